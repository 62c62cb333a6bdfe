import type { Db, Tx } from '../../db/database.ts';
import { isUnavailable } from '../../db/failure.ts';
import { scopesOf } from '../watch-scopes.ts';
import type { HeardAttack } from './facts.ts';
import { planResponse } from './plan.ts';
import { expiredRuns, updateRuns } from '../responders/store.ts';
import {
  endForgotten,
  lockResponses,
  openResponses,
  saveHeard,
  saveResponses,
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

export interface RespondHooks {
  readonly tell: (responded: Responded) => void;
  /** Nothing could be decided about this one; the others were. */
  readonly failed: (what: string, error: unknown) => void;
}

/** Attacks that are decided about in one transaction, which is one generation: edges hear of them together. */
const BATCH = 256;

/** Keeps what was heard and acts on it, all in one transaction: a process killed in between did neither. */
export async function respondToHeard(
  db: Db,
  heard: readonly HeardAttack[],
  hooks: RespondHooks,
): Promise<void> {
  await inBatches(heard, hooks, (batch) =>
    db.transaction().execute(async (tx) => {
      await saveHeard(tx, batch);
      return respondIn(
        tx,
        batch.map(({ attackId }) => attackId),
      );
    }),
  );
}

/** What is missing, or stands and should not. Again does nothing. Of each attack of which something was. */
export async function respondIn(tx: Tx, attackIds: readonly number[]): Promise<Responded[]> {
  const kept = await lockResponses(tx, attackIds);
  const scopes = await scopesOf(
    tx,
    kept.map(({ subject }) => subject),
  );
  const planned = kept.map((one) => ({
    ...one,
    plan: planResponse({ ...one, scope: scopes.of(one.subject) }),
  }));
  await updateRuns(
    tx,
    planned.map(({ attackId, subject, plan }) => ({ attackId, subject, because: plan.uncalled })),
  );
  const generation = await saveResponses(tx, planned);
  if (generation === null) return [];
  return planned.flatMap(({ attackId, subject, standing, plan: { begin, end } }) => {
    if (begin.length + end.length === 0) return [];
    return [
      { attackId, subject, generation, actions: standing.length - end.length + begin.length },
    ];
  });
}

/**
 * Does what nobody did: attacks that were recorded by a process that died, or by another one, those that ended or
 * are not heard of any longer, and with `all` those whose settings may have changed.
 */
export async function sweepResponses(db: Db, all: boolean, hooks: RespondHooks): Promise<void> {
  await respondToHeard(db, await unheardAttacks(db), hooks);
  await endForgotten(db);
  const due = new Set([...(await openResponses(db, all)), ...(await expiredRuns(db))]);
  await inBatches([...due], hooks, (batch) =>
    db.transaction().execute((tx) => respondIn(tx, batch)),
  );
}

async function inBatches<T>(
  all: readonly T[],
  hooks: RespondHooks,
  work: (batch: readonly T[]) => Promise<Responded[]>,
): Promise<void> {
  for (let begin = 0; begin < all.length; begin += BATCH) {
    await halving(all.slice(begin, begin + BATCH), hooks, work);
  }
}

/** One about which nothing can be decided keeps back none of the others. */
async function halving<T>(
  batch: readonly T[],
  hooks: RespondHooks,
  work: (batch: readonly T[]) => Promise<Responded[]>,
): Promise<void> {
  try {
    for (const responded of await work(batch)) hooks.tell(responded);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (batch.length === 1) return hooks.failed('mitigating an attack', error);
    const half = Math.ceil(batch.length / 2);
    await halving(batch.slice(0, half), hooks, work);
    await halving(batch.slice(half), hooks, work);
  }
}
