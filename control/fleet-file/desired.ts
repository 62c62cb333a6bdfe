import type { FoundEgg } from '../game-servers/index.ts';
import type { GeoContent } from '../firewall/geo/index.ts';
import type { WantedFilter, WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import type { DeclaredObjects } from '../operator/index.ts';
import type { Position } from './mistakes.ts';

/**
 * The parsed fleet file: networks as PostgreSQL writes them, ports expanded, defaults filled in. Each entry has
 * its position (`at`), because a plan may still refuse it.
 */
export interface FleetFile {
  /** The path as given, for messages. */
  readonly path: string;
  /** The objects of every kind of `control/operator`. */
  readonly objects: DeclaredObjects<Position>;
  /** Eggs that its game servers name. */
  readonly eggs: readonly NamedEgg[];
  readonly organisations: readonly DesiredOrganisation[];
}

export interface Located {
  readonly at: Position;
}

export interface DesiredOrganisation extends Located {
  readonly slug: string;
  readonly groups: readonly DesiredGroup[];
  readonly geoRules: readonly DesiredGeoRule[];
  readonly blocked: readonly DesiredBlocked[];
}

/** Sources that are blocked on a target, or without one on everything that the organisation holds. */
export interface DesiredBlocked extends Located {
  readonly target: string | null;
  readonly sources: readonly string[];
  readonly note: string;
}

export interface DesiredTarget extends Located {
  readonly target: string;
}

export interface DesiredGroup extends Located {
  readonly name: string;
  readonly rules: readonly WantedRule[];
  readonly filters: readonly WantedFilter[];
  /** Rules and filters whose time is over, in words. They are not among the others. */
  readonly expired: readonly string[];
  readonly targets: readonly DesiredTarget[];
}

export interface DesiredGeoRule extends Located {
  readonly content: GeoContent;
  readonly targets: readonly DesiredTarget[];
}

/** An egg by its name in the file. */
export interface NamedEgg {
  readonly name: string;
  readonly found: FoundEgg;
}
