import type { Db, Tx } from '../../../db/database.ts';
import { isUnavailable } from '../../../db/failure.ts';
import { type ReportedAttack, scopesOf } from '../../detection/index.ts';
import { planResponse } from './plan.ts';
import { expiredRuns, updateRuns } from '../responders/store.ts';
import {
  endForgotten,
  lockResponses,
  openResponses,
  saveReports,
  saveResponses,
  unreportedAttacks,
} from './store.ts';

/** The result for an attack. */
export interface Responded {
  readonly attackId: number;
  readonly subject: string;
  readonly generation: number;
  /** The number of mitigations in force; 0: all are withdrawn. */
  readonly actions: number;
}

export interface RespondHooks {
  readonly responded: (responded: Responded) => void;
  /** Planning failed for this attack only. */
  readonly failed: (what: string, error: unknown) => void;
}

/** The most attacks per transaction, which is one generation. */
const BATCH = 256;

/** Stores the reports and acts on them in one transaction, so that a kill leaves neither or both. */
export async function respondToReports(
  db: Db,
  reported: readonly ReportedAttack[],
  hooks: RespondHooks,
): Promise<void> {
  await inBatches(reported, hooks, (batch) =>
    db.transaction().execute(async (tx) => {
      await saveReports(tx, batch);
      return respondIn(
        tx,
        batch.map(({ attackId }) => attackId),
      );
    }),
  );
}

/** Plans and applies the changes of each attack. A repetition does nothing. Returns the changed attacks. */
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
  return planned.flatMap(({ attackId, subject, active, plan: { begin, end } }) => {
    if (begin.length + end.length === 0) return [];
    return [{ attackId, subject, generation, actions: active.length - end.length + begin.length }];
  });
}

/**
 * Catches up: attacks recorded by another or a dead process, attacks that ended or are no longer reported, and with
 * `all` those whose settings may have changed.
 */
export async function sweepResponses(db: Db, all: boolean, hooks: RespondHooks): Promise<void> {
  await respondToReports(db, await unreportedAttacks(db), hooks);
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

/** A failure of one attack does not affect the others. */
async function halving<T>(
  batch: readonly T[],
  hooks: RespondHooks,
  work: (batch: readonly T[]) => Promise<Responded[]>,
): Promise<void> {
  try {
    for (const one of await work(batch)) hooks.responded(one);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (batch.length === 1) return hooks.failed('mitigating an attack', error);
    const half = Math.ceil(batch.length / 2);
    await halving(batch.slice(0, half), hooks, work);
    await halving(batch.slice(half), hooks, work);
  }
}
