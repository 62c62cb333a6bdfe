import type { Ability, Flag } from '@portcullis/core/access/abilities.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { GameServerContent } from '../declared/game-servers.ts';
import type { OrganisationLimits, ServiceContent } from '../organisations/index.ts';
import type { GeoContent } from '../firewall/geo/index.ts';
import type { WantedFilter, WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
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
  /** The operator's own, for prefixes of any organisation. */
  readonly asns: readonly DesiredAsn[];
  readonly organisations: readonly DesiredOrganisation[];
  readonly gameServers: readonly DesiredGameServer[];
}

export interface Located {
  readonly at: Position;
}

export interface DesiredAsn extends Located {
  readonly asn: number;
}

export interface DesiredOrganisation extends Located {
  readonly slug: string;
  readonly name: string;
  /** Sorted. */
  readonly flags: readonly Flag[];
  readonly limits: OrganisationLimits;
  readonly asns: readonly DesiredAsn[];
  readonly services: readonly DesiredService[];
  readonly holdings: readonly DesiredHolding[];
  readonly keys: readonly DesiredKey[];
  readonly groups: readonly DesiredGroup[];
  readonly geoRules: readonly DesiredGeoRule[];
  readonly blocked: readonly DesiredBlocked[];
  readonly detection: ScopeSettings;
}

/** Sources that are blocked on a target, or without one on everything that the organisation holds. */
export interface DesiredBlocked extends Located {
  readonly target: string | null;
  readonly sources: readonly string[];
  readonly note: string;
}

export interface DesiredService extends Located, ServiceContent {
  readonly detection: ScopeSettings;
}

/** A prefix, under an `asn` or none, or what a service holds (`serviceId`). */
export interface DesiredHolding extends Located {
  readonly cidr: string;
  readonly asn: number | null;
  readonly serviceId: number | null;
  /** Null means from the time it is first applied. */
  readonly since: Date | null;
  /** Null means without end. */
  readonly until: Date | null;
  /** Its own, or that of the organisation; null when neither has one. */
  readonly default: DefaultAction | null;
  readonly detection: ScopeSettings;
}

export interface DesiredKey extends Located {
  readonly name: string;
  readonly abilities: readonly Ability[];
  readonly servers: readonly string[] | null;
  readonly managedServers: readonly string[] | null;
  readonly prefixes: readonly string[] | null;
  readonly sources: readonly string[] | null;
  readonly expiresAt: Date | null;
  /** The whole key; null when one is to be generated. */
  readonly secret: string | null;
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

export interface DesiredGameServer extends Located, GameServerContent {
  readonly organisation: string;
}
