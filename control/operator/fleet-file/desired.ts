import type { FoundEgg } from '../../game-servers/index.ts';
import type { DeclaredObjects } from '../index.ts';
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
}

/** An egg by its name in the file. */
export interface NamedEgg {
  readonly name: string;
  readonly found: FoundEgg;
}
