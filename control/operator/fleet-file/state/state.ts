import type { Db, Tx } from '../../../db/database.ts';
import {
  type DeclaredObjects,
  type Elsewhere,
  loadElsewhere,
  loadNow,
  loadObjects,
  type StoredObjects,
} from '../../index.ts';

/** The database's rows of everything that a fleet file can name, including those of the portal. */
export interface FleetState {
  /** The time of the plan. */
  readonly now: Date;
  /** The objects of every kind of `control/operator`. */
  readonly objects: StoredObjects;
  /** Losses of others by saving the objects of the file. */
  readonly elsewhere: Elsewhere;
}

/** `declared`: the objects of the file. */
export async function loadFleetState(
  db: Db | Tx,
  declared: DeclaredObjects<unknown>,
): Promise<FleetState> {
  return {
    now: await loadNow(db),
    objects: await loadObjects(db),
    elsewhere: await loadElsewhere(db, declared),
  };
}
