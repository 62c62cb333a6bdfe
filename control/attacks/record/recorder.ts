import { setTimeout as delay } from 'node:timers/promises';
import type { AttackTops } from '@portcullis/core/attacks/respond.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { HeardAttack } from '../mitigations/facts.ts';
import { ensurePartitions } from '../partitions.ts';
import { type Known, inHolderTime, planRecord, type RecordStep, type Seen } from './plan.ts';
import {
  changeRecords,
  endSightings,
  loadKnown,
  lockClock,
  noteSightings,
  openRecords,
  saveEvidence,
  setClock,
  touchRecords,
} from './store.ts';

export interface RecorderOptions {
  readonly db: Db;
  /** Of this run of a control plane. */
  readonly name: string;
  readonly onAttack: (heard: HeardAttack) => void;
  readonly topsOf: (subject: string) => AttackTops | null;
  readonly failed: (what: string, error: unknown) => void;
}

/** Subjects in one transaction: those that wait are written by the next. */
const BATCH = 256;
/** Subjects that wait at most; the detector says again what was thrown away, each second. */
const MAX_PENDING = 16_384;
const RETRY_MS = 500;

/**
 * Writes what the detector says, in the order of what matters, and again until it is written. What is said twice is
 * written once; a process that dies loses nothing that the next one's detector does not say.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #pending = new Map<string, Seen>();
  readonly #evidence = new Map<string, object>();
  readonly #months = new Set<string>();
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  note(seen: Seen): void {
    const { subject } = seen.attack;
    const before = this.#pending.get(subject);
    if (before === undefined && this.#pending.size >= MAX_PENDING && !seen.isNews) return;
    this.#pending.set(subject, { ...seen, isNews: seen.isNews || (before?.isNews ?? false) });
    this.#wake();
  }

  /** Written with the next batch, once the attack has a record. */
  noteEvidence(subject: string, evidence: object): void {
    if (this.#evidence.size < MAX_PENDING) this.#evidence.set(subject, evidence);
    this.#wake();
  }

  /** Once what waits now is written, or could not be. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  #wake(): void {
    if (this.#stopped) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#pending.size > 0 && !this.#stopped) this.#wake();
    });
  }

  async #run(): Promise<void> {
    while (this.#pending.size + this.#evidence.size > 0) {
      const batch = this.#nextBatch();
      const evidence = [...this.#evidence].map(([subject, one]) => ({ subject, evidence: one }));
      this.#evidence.clear();
      try {
        const heard = await this.#write(batch, evidence);
        for (const one of heard) this.#options.onAttack(one);
      } catch (error) {
        this.#options.failed('recording attacks', error);
        for (const one of batch) {
          const { subject } = one.attack;
          if (!this.#pending.has(subject)) this.#pending.set(subject, one);
        }
        if (this.#stopped) return;
        await delay(RETRY_MS);
      }
    }
  }

  /** News first. */
  #nextBatch(): Seen[] {
    const waiting = [...this.#pending.values()];
    const batch = waiting.toSorted((a, b) => Number(b.isNews) - Number(a.isNews)).slice(0, BATCH);
    for (const { attack } of batch) this.#pending.delete(attack.subject);
    return batch;
  }

  async #write(
    batch: readonly Seen[],
    evidence: readonly { readonly subject: string; readonly evidence: object }[],
  ): Promise<HeardAttack[]> {
    const { db, name, topsOf } = this.#options;
    await this.#makePartitions(batch);
    const steps = await db.transaction().execute(async (tx) => {
      const done = batch.length === 0 ? [] : await recordBatch(tx, name, batch);
      await saveEvidence(tx, evidence);
      return done;
    });
    return steps.flatMap(({ seen, step, attackId }) => {
      const kind = newsOf(step, seen);
      if (kind === null || attackId === null) return [];
      const { attack } = seen;
      return [{ attackId, kind, attack, tops: topsOf(attack.subject) }];
    });
  }

  async #makePartitions(batch: readonly Seen[]): Promise<void> {
    for (const { attack, openedAtMs } of batch) {
      for (const ms of [attack.startedAtMs, openedAtMs]) {
        const moment = new Date(ms);
        const month = moment.toISOString().slice(0, 7);
        if (this.#months.has(month)) continue;
        await ensurePartitions(this.#options.db, moment, 0);
        this.#months.add(month);
      }
    }
  }
}

function newsOf(step: RecordStep, { isNews }: Seen): HeardAttack['kind'] | null {
  switch (step) {
    case 'open':
      return 'opened';
    case 'reopen':
      return 'continued';
    case 'end':
      return 'ended';
    case 'touch':
      return isNews ? 'changed' : null;
    case 'leave':
    case 'nothing':
    default:
      return null;
  }
}

interface Recorded {
  readonly seen: Seen;
  readonly step: RecordStep;
  readonly attackId: number | null;
}

/** Each subject once. */
export async function recordBatch(
  tx: Tx,
  recorder: string,
  batch: readonly Seen[],
): Promise<Recorded[]> {
  const newest = await lockClock(tx);
  const subjects = batch.map(({ attack }) => attack.subject);
  const known = await loadKnown(tx, recorder, subjects);
  const steps = batch.map((seen) => {
    const row = known.get(seen.attack.subject) ?? null;
    const step = planRecord(seen, row);
    return { seen: step === 'open' ? inHolderTime(seen, row) : seen, row, step };
  });
  const of = (...wanted: readonly RecordStep[]) =>
    steps.filter(({ step }) => wanted.includes(step));
  const revision = newest + 1;
  if (of('open', 'reopen', 'end').length > 0) await setClock(tx, revision);
  const opened = await openRecords(
    tx,
    revision,
    of('open').map(({ seen }) => seen),
  );
  await touchRecords(
    tx,
    of('touch', 'reopen', 'end').map(({ seen }) => seen),
  );
  await changeRecords(
    tx,
    revision,
    of('reopen', 'end').flatMap(({ seen, row }) => (row === null ? [] : [changeOf(seen, row)])),
  );
  const goOn = of('open', 'touch', 'reopen').map(({ seen }) => seen.attack.subject);
  await noteSightings(tx, recorder, goOn);
  await endSightings(
    tx,
    recorder,
    of('end', 'leave').map(({ seen }) => seen.attack.subject),
  );
  return steps.map(({ seen, row, step }) => {
    const made = opened.get(seen.attack.subject);
    return { seen, step, attackId: (step === 'open' ? made : row?.attackId) ?? null };
  });
}

function changeOf({ attack: { endedAtMs } }: Seen, { attackId, startedAt }: Known) {
  const endedAt = endedAtMs === null ? null : new Date(endedAtMs);
  return { id: attackId, from: startedAt, startedAt, endedAt };
}
