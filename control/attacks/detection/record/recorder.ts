import { setTimeout as delay } from 'node:timers/promises';
import type { Db, Tx } from '../../../db/database.ts';
import { ensurePartitions } from './partitions.ts';
import {
  type AttackSink,
  inHolderTime,
  type Known,
  otherFromMs,
  planRecord,
  type RecordChange,
  type ReportedAttack,
  type RecordStep,
  type Seen,
} from './plan.ts';
import { endOfPart, joinTo, splitAt } from './snapshot.ts';
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
  /** Called once the change is committed; what the detector reports meanwhile replaces what waits. */
  readonly onChange: (change: RecordChange) => void;
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
    const { db, name, onChange } = this.#options;
    await this.#makePartitions(batch);
    const { steps, changes } = await db.transaction().execute(async (tx) => {
      // Another replica runs the detector now: it reports the same attacks.
      if (!(await mayRecord(tx, name))) return NOTHING_DONE;
      const done = batch.length === 0 ? NOTHING_DONE : await recordBatch(tx, batch);
      // Evidence from before a split or merge belongs to other records.
      const anew = new Set(done.changes.map(({ subject }) => subject));
      await saveEvidence(
        tx,
        evidence.filter(({ subject }) => !anew.has(subject)),
      );
      return done;
    });
    for (const change of changes) {
      this.#evidence.delete(change.subject);
      onChange(change);
    }
    return steps.flatMap(({ seen, step, attackId }) => {
      const kind = newsOf(step, seen);
      if (kind === null || attackId === null) return [];
      const { attack, tops, isClaimed } = seen;
      return [{ attackId, kind, attack, tops, isClaimed }];
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
}

/** The results of a batch. */
export interface Batch {
  readonly steps: readonly Recorded[];
  /** Once for each subject that was split or joined. */
  readonly changes: readonly RecordChange[];
}

const NOTHING_DONE: Batch = { steps: [], changes: [] };

interface Planned {
  readonly seen: Seen;
  readonly row: Known | null;
  readonly step: RecordStep;
  /** The evidence before the split. Null if nothing was split. */
  readonly before: object | null;
  /** Null if it was neither split nor joined. */
  readonly change: RecordChange | null;
}

/** Each subject once. */
export async function recordBatch(tx: Tx, batch: readonly Seen[]): Promise<Batch> {
  const newest = await lockClock(tx);
  const subjects = batch.map(({ attack }) => attack.subject);
  const known = await loadKnown(tx, subjects);
  const planned = batch.map((seen) => planOne(seen, known.get(seen.attack.subject) ?? null));
  const steps = await leaveRecorded(tx, await joinReopened(tx, planned));
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
  return {
    steps: steps.flatMap((one) => recordedAs(one, opened.get(one.seen.attack.subject) ?? null)),
    changes: steps.flatMap(({ change }) => (change === null ? [] : [change])),
  };
}

/** A restarted attack continues its record. */
async function joinReopened(tx: Tx, planned: readonly Planned[]): Promise<Planned[]> {
  const subjects = planned.flatMap((one) => (joins(one) ? [one.seen.attack.subject] : []));
  const all = await loadKept(tx, subjects);
  return planned.map((one) => {
    const { subject } = one.seen.attack;
    const stored = joins(one) ? all.get(subject) : undefined;
    const seen = stored === undefined ? null : joinTo(one.seen, stored);
    if (stored === undefined || seen === null) return one;
    // A state that is stored at each report until its detector knows would count the new part each time.
    const { snapshot } = one.step === 'reopen' ? seen : { snapshot: null };
    return { ...one, seen: { ...seen, snapshot }, change: { kind: 'joined', subject, stored } };
  });
}

/** Also where its detector does not know the start of the record: it has opened the attack itself, or not joined it yet. */
function joins({ seen: { attack }, row, step }: Planned): boolean {
  const isLater = row !== null && attack.startedAtMs > row.startedAt.getTime();
  return step === 'reopen' || (step === 'touch' && isLater);
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

function planOne(seen: Seen, row: Known | null): Planned {
  const step = planRecord(seen, row);
  const sinceMs = row && ownSinceMs(step, seen, row);
  if (row === null || sinceMs === null) return { seen, row, step, before: null, change: null };
  const { subject } = seen.attack;
  const split = splitAt(seen, sinceMs);
  if (split !== null) {
    const { startedAtMs } = split.seen.attack;
    const change = { kind: 'split', subject, startedAtMs } as const;
    return { seen: inHolderTime(split.seen, row), row, step, before: split.before, change };
  }
  if (step !== 'end')
    return { seen: inHolderTime(seen, row), row, step, before: null, change: null };
  const change = { kind: 'split', subject, startedAtMs: sinceMs } as const;
  return { seen: endOfPart(seen, sinceMs), row, step, before: null, change };
}

/** Since when the attack belongs to its record, if the detector may know more of it. */
function ownSinceMs(step: RecordStep, { attack }: Seen, row: Known): number | null {
  if (step === 'open' || step === 'hand-over') return otherFromMs(row);
  // A split that its detector has not made yet: it reported meanwhile, or the answer to the commit was lost.
  const recordMs = row.startedAt.getTime();
  return (step === 'touch' || step === 'end') && attack.startedAtMs < recordMs ? recordMs : null;
}

function recordedAs(planned: Planned, opened: number | null): Recorded[] {
  const { seen, row, step } = planned;
  const attackId = row?.attackId ?? null;
  if (step === 'open' || step === 'whole') return [{ seen, step, attackId: opened }];
  if (step !== 'hand-over') return [{ seen, step, attackId }];
  return [
    { seen, step: 'end', attackId },
    { seen, step: 'open', attackId: opened },
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
