import type { Db, Tx } from '../../db/database.ts';
import { scopeOf } from '../watch-scopes.ts';
import type { HeardAttack } from './facts.ts';
import { planResponse } from './plan.ts';
import { expiredRuns, updateRuns } from '../responders/store.ts';
import {
  endForgotten,
  lockResponse,
  openResponses,
  saveHeard,
  saveResponse,
  unheardAttacks,
} from './store.ts';

/** What an attack's mitigations came to. */
export interface Responded {
  readonly attackId: number;
  readonly subject: string;
  readonly generation: number;
  /** What stands from now on; 0: everything is withdrawn. */
  readonly actions: number;
}

/** Keeps what was heard and acts on it, all in one transaction: a process killed in between did neither. */
export async function respondToHeard(db: Db, heard: HeardAttack): Promise<Responded | null> {
  return db.transaction().execute(async (tx) => {
    await saveHeard(tx, heard);
    return respondIn(tx, heard.attackId);
  });
}

/** What is missing, or stands and should not. Again does nothing. Null: nothing was. */
export async function respondIn(tx: Tx, attackId: number): Promise<Responded | null> {
  const kept = await lockResponse(tx, attackId);
  if (kept === null) return null;
  const { subject, standing } = kept;
  const plan = planResponse({ ...kept, scope: await scopeOf(tx, subject) });
  await updateRuns(tx, attackId, subject, plan.uncalled);
  const generation = await saveResponse(tx, attackId, subject, plan);
  if (generation === null) return null;
  const actions = standing.length - plan.end.length + plan.begin.length;
  return { attackId, subject, generation, actions };
}

/**
 * Does what nobody did: attacks that were recorded by a process that died, or by another one, those that ended or
 * are not heard of any longer, and with `all` those whose settings may have changed.
 */
export async function sweepResponses(
  db: Db,
  all: boolean,
  tell: (responded: Responded) => void,
): Promise<void> {
  for (const heard of await unheardAttacks(db)) {
    const responded = await respondToHeard(db, heard);
    if (responded !== null) tell(responded);
  }
  await endForgotten(db);
  const due = new Set([...(await openResponses(db, all)), ...(await expiredRuns(db))]);
  for (const id of due) {
    const responded = await db.transaction().execute((tx) => respondIn(tx, id));
    if (responded !== null) tell(responded);
  }
}
