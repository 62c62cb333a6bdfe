import { setTimeout as delay } from 'node:timers/promises';
import type { Db, Tx } from '../../db/database.ts';
import { ensurePartitions } from './partitions.ts';
import {
  type AttackSink,
  inHolderTime,
  type Known,
  otherFromMs,
  planRecord,
  type RecordedDetector,
  type ReportedAttack,
  type RecordStep,
  type Seen,
} from './plan.ts';
import {
  absorbRecords,
  type Change,
  changeRecords,
  loadKept,
  loadKnown,
  loadRecorded,
  lockClock,
  mayRecord,
  openRecords,
  saveEvidence,
  setClock,
  touchRecords,
} from './store.ts';

export interface RecorderOptions {
  readonly db: Db;
  /** The instance id of this process. */
  readonly name: string;
  readonly onAttack: (reported: ReportedAttack) => void;
  readonly detector: RecordedDetector;
  readonly failed: (what: string, error: unknown) => void;
}

/** The most subjects per transaction. */
const BATCH = 256;
/** The most waiting subjects; the detector repeats dropped ones every second. */
const MAX_PENDING = 16_384;
const RETRY_MS = 500;

/**
 * Writes the detector's states by priority and repeats until they are written. Repetitions are written once. A dead
 * process loses nothing that the next detector does not report.
 */
export class Recorder implements AttackSink {
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

  /** Written with the next batch once the attack has a record. */
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
        const reported = await this.#write(batch, evidence);
        for (const one of reported) this.#options.onAttack(one);
      } catch (error) {
        this.#options.failed('recording attacks', error);
        for (const one of batch) {
          const { subject } = one.attack;
          if (!this.#pending.has(subject)) this.#pending.set(subject, one);
        }
        for (const { subject, evidence: one } of evidence) {
          if (!this.#evidence.has(subject)) this.#evidence.set(subject, one);
        }
        if (this.#stopped) return;
        await delay(RETRY_MS);
      }
    }
  }

  /** New attacks first. */
  #nextBatch(): Seen[] {
    const waiting = [...this.#pending.values()];
    const batch = waiting.toSorted((a, b) => Number(b.isNews) - Number(a.isNews)).slice(0, BATCH);
    for (const { attack } of batch) this.#pending.delete(attack.subject);
    return batch;
  }

  async #write(
    batch: readonly Seen[],
    evidence: readonly { readonly subject: string; readonly evidence: object }[],
  ): Promise<ReportedAttack[]> {
    const { db, name, detector } = this.#options;
    await this.#makePartitions(batch);
    const steps = await db.transaction().execute(async (tx) => {
      // Another replica runs the detector now: it reports the same attacks.
      if (!(await mayRecord(tx, name))) return [];
      const done = batch.length === 0 ? [] : await recordBatch(tx, batch, detector);
      // Evidence from before a split or merge belongs to other records.
      const anew = new Set(
        done.flatMap(({ seen, isAnew }) => (isAnew ? [seen.attack.subject] : [])),
      );
      await saveEvidence(
        tx,
        evidence.filter(({ subject }) => !anew.has(subject)),
      );
      return done;
    });
    return steps.flatMap(({ seen, step, attackId }) => {
      const kind = newsOf(step, seen);
      if (kind === null || attackId === null) return [];
      const { attack } = seen;
      const { subject } = attack;
      const isClaimed = detector.isClaimed(subject);
      return [{ attackId, kind, attack, tops: detector.topsOf(subject), isClaimed }];
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

function newsOf(step: RecordStep, { isNews }: Seen): ReportedAttack['kind'] | null {
  switch (step) {
    case 'open':
      return 'opened';
    case 'reopen':
      return 'continued';
    case 'end':
    case 'absorb':
    case 'whole':
      return 'ended';
    case 'touch':
      return isNews ? 'changed' : null;
    case 'hand-over':
    case 'nothing':
    default:
      return null;
  }
}

/** The result of a state; after a change of the holder, the end of one record and the start of another. */
interface Recorded {
  readonly seen: Seen;
  readonly step: RecordStep;
  readonly attackId: number | null;
  /** The detector has just split or merged it. */
  readonly isAnew: boolean;
}

interface Planned {
  readonly seen: Seen;
  readonly row: Known | null;
  readonly step: RecordStep;
  /** The evidence before the split. Null if nothing was split. */
  readonly before: object | null;
  readonly isAnew: boolean;
}

/** Each subject once. */
export async function recordBatch(
  tx: Tx,
  batch: readonly Seen[],
  detector: RecordedDetector,
): Promise<Recorded[]> {
  const newest = await lockClock(tx);
  const subjects = batch.map(({ attack }) => attack.subject);
  const known = await loadKnown(tx, subjects);
  const planned = batch.map((seen) =>
    planOne(seen, known.get(seen.attack.subject) ?? null, detector),
  );
  const steps = await leaveRecorded(tx, await joinReopened(tx, planned, detector));
  const of = (...wanted: readonly RecordStep[]) =>
    steps.filter(({ step }) => wanted.includes(step));
  const revision = newest + 1;
  if (of('open', 'hand-over', 'reopen', 'end', 'absorb', 'whole').length > 0)
    await setClock(tx, revision);
  await touchRecords(
    tx,
    of('touch', 'reopen', 'end').map(({ seen }) => seen),
  );
  // Before the new records replace the old ones.
  await saveEvidence(
    tx,
    of('hand-over').flatMap(({ seen, before }) =>
      before === null ? [] : [{ subject: seen.attack.subject, evidence: before }],
    ),
  );
  await changeRecords(tx, revision, of('hand-over', 'reopen', 'end').flatMap(changeOf));
  await absorbRecords(
    tx,
    revision,
    of('absorb').flatMap(({ row }) => (row === null ? [] : [row.attackId])),
  );
  const opened = await openRecords(
    tx,
    revision,
    of('open', 'hand-over', 'whole').map(({ seen }) => seen),
  );
  return steps.flatMap((one) => recordedAs(one, opened.get(one.seen.attack.subject) ?? null));
}

/** A restarted attack continues its record. */
async function joinReopened(
  tx: Tx,
  planned: readonly Planned[],
  detector: RecordedDetector,
): Promise<Planned[]> {
  const subjects = planned.flatMap(({ seen, step }) =>
    step === 'reopen' ? [seen.attack.subject] : [],
  );
  const all = await loadKept(tx, subjects);
  return planned.map((one) => {
    const kept = one.step === 'reopen' ? all.get(one.seen.attack.subject) : undefined;
    const seen = kept === undefined ? null : detector.resumeRecord(kept);
    return seen === null ? one : { ...one, seen, isAnew: true };
  });
}

/** Records by another recorder, or of an outage, while this recorder could not write. */
async function leaveRecorded(tx: Tx, planned: readonly Planned[]): Promise<readonly Planned[]> {
  const whole = planned.flatMap(({ seen, step }) => (step === 'whole' ? [seen] : []));
  const recorded = await loadRecorded(tx, whole);
  return planned.map((one) =>
    one.step === 'whole' && recorded.has(one.seen.attack.subject)
      ? { ...one, step: 'nothing' }
      : one,
  );
}

function planOne(seen: Seen, row: Known | null, detector: RecordedDetector): Planned {
  const step = planRecord(seen, row);
  const opens = step === 'open' || step === 'hand-over';
  const sinceMs = row === null || !opens ? null : otherFromMs(row);
  if (row === null || sinceMs === null) return { seen, row, step, before: null, isAnew: false };
  const handed = detector.handOver(seen.attack.subject, sinceMs);
  return {
    seen: inHolderTime(handed?.seen ?? seen, row),
    row,
    step,
    before: handed?.before ?? null,
    isAnew: handed !== null && handed.before !== null,
  };
}

function recordedAs(planned: Planned, opened: number | null): Recorded[] {
  const { seen, row, step, isAnew } = planned;
  const attackId = row?.attackId ?? null;
  if (step === 'open' || step === 'whole') return [{ seen, step, attackId: opened, isAnew }];
  if (step !== 'hand-over') return [{ seen, step, attackId, isAnew }];
  return [
    { seen, step: 'end', attackId, isAnew },
    { seen, step: 'open', attackId: opened, isAnew },
  ];
}

/** A record ends with its holding at the latest. */
function changeOf({ seen: { attack }, row, step }: Planned): Change[] {
  if (row === null) return [];
  const { attackId: id, startedAt, otherSince } = row;
  const untilMs = otherSince?.getTime() ?? Infinity;
  const endedMs = step === 'hand-over' ? untilMs : attack.endedAtMs;
  const endedAt = endedMs === null ? null : new Date(Math.min(endedMs, untilMs));
  return [{ id, from: startedAt, startedAt, endedAt }];
}
