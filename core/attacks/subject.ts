import type { Attack, AttackEvent, Measured, Thresholds } from './attack.ts';
import { type Baseline, learn, limitsOf } from './baseline.ts';
import { classify, createTotals, type VectorTotals } from './classify.ts';
import { BUCKET_MS, type VectorCount } from './sample.ts';
import {
  type Bucket,
  latest,
  peaksOf,
  type Rates,
  ratesOf,
  restart,
  SHORT_MS,
  type Window,
} from './window.ts';

/** What is remembered of a subject that gets enough to be looked at. */
export interface SubjectState {
  readonly prefix: string | null;
  readonly window: Window;
  readonly baseline: Baseline;
  readonly vectors: Vectors;
  /** Of a prefix: for how many buckets few of its addresses have together got too much for it. */
  readonly pressed: number;
  readonly phase: Phase;
}

/** Packets and bytes by vector. */
export interface Vectors {
  /** A second's worth of what is usual; learnt as the baseline is. */
  readonly usual: VectorTotals;
  /** Of the short past, fading. */
  readonly recent: VectorTotals;
}

export type Phase = { readonly name: 'quiet' } | Ongoing | Ended;

interface Recorded {
  readonly attack: Attack;
  /** What would have been too much when it began: frozen while it lasts. */
  readonly limits: Limits;
  /** Below these it is quiet. */
  readonly ends: Limits;
  /** Everything beyond the usual since it began, by vector. */
  readonly evidence: VectorTotals;
}

export interface Ongoing extends Recorded {
  readonly name: 'ongoing';
  /** Since its type was last asked for. */
  readonly namedMs: number;
  /** How long it has been below half of its limits. */
  readonly quietMs: number;
  /** So much of the past is its own; null: all of it. What came before was another's to bear. */
  readonly ownMs: number | null;
}

export interface Ended extends Recorded {
  readonly name: 'ended';
  readonly sinceMs: number;
}

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

export const QUIET: Phase = { name: 'quiet' };
/** Of an attack that has just begun, or goes on again. */
export const BEGINNING = { quietMs: 0, namedMs: 0, ownMs: null } as const;

/** Beginning again within this time, it is the same attack. */
const MERGE_MS = 300_000;
/**
 * It ends below half of the way from what is usual to its limits: it does not end and begin with every breath, and a
 * download beside it does not keep it going.
 */
const END_SHARE = 0.5;
/**
 * It is closed within its hold time, by whoever looks at the record: its last packet is up to a bucket older than the
 * quiet, and counting, telling and writing take half a second. Of short hold times at most a quarter.
 */
const TOLD_MS = 3 * BUCKET_MS;
const TOLD_SHARE = 0.25;
/** A peak is worth an event of its own from this much more. */
const NEWS = 1.02;
/** What kind it is, is asked so often. */
const NAMING_MS = 1000;
const RECENT_FADE_MS = 1500;
/** Of what vectors are usual, a minute. */
const USUAL_FADE_MS = 60_000;

export interface Moment {
  readonly atMs: number;
  readonly durationMs: number;
}

export interface Stepped {
  readonly state: SubjectState;
  readonly event: AttackEvent | null;
}

/** Surely, and now: the longer past alone may be too much long after it is over. */
export function tooMuch(rates: Rates, limits: Limits): boolean {
  return (
    (rates.surePps >= limits.pps && rates.pps >= limits.pps) ||
    (rates.sureBps >= limits.bps && rates.bps >= limits.bps)
  );
}

export function noteVectors(
  { usual, recent }: Vectors,
  counts: readonly VectorCount[],
  { durationMs }: Moment,
): Vectors {
  const kept = Math.exp(-durationMs / RECENT_FADE_MS);
  const next = scaled(recent, kept);
  for (const { vector, packets, bytes } of counts) {
    next[vector * 2] = (next[vector * 2] as number) + packets;
    next[vector * 2 + 1] = (next[vector * 2 + 1] as number) + bytes;
  }
  return { usual, recent: next };
}

/** Without an attack: learns what is usual. */
export function stepQuiet(
  state: SubjectState,
  rates: Pick<Rates, 'pps' | 'bps'>,
  { durationMs }: Moment,
): SubjectState {
  const { usual, recent } = state.vectors;
  const weight = Math.min(1, durationMs / USUAL_FADE_MS);
  return {
    ...state,
    baseline: learn(state.baseline, rates, durationMs),
    vectors: {
      recent,
      usual: mixed(usual, 1 - weight, recent, perSecond * weight),
    },
  };
}

/** A fading sum holds this many seconds of a steady rate. */
const perSecond = 1000 / RECENT_FADE_MS;

/** `measured`: the traffic that is this attack's; of a prefix, what attacks on single addresses leave. */
export function open(
  state: SubjectState,
  subject: string,
  thresholds: Thresholds,
  measured: Window,
  moment: Moment,
): Stepped {
  const limits = limitsOf(state.baseline, thresholds);
  const evidence = addExcess(createTotals(), state.vectors, SHORT_MS);
  const { type, shares } = classify(evidence, thresholds);
  const { pps, bps } = peaksOf(measured);
  const ends = endsOf(state.baseline, limits);
  const busy = busyBuckets(measured, ends);
  const startedAtMs = Math.round(busy.reduce((at, { durationMs }) => at - durationMs, moment.atMs));
  const attack: Attack = {
    id: `${subject}@${startedAtMs}`,
    subject,
    type,
    shares,
    peakPps: pps,
    peakBps: bps,
    startedAtMs,
    endedAtMs: null,
  };
  return {
    state: {
      ...state,
      window: restart(state.window, busy.length),
      phase: { name: 'ongoing', attack, limits, ends, evidence, ...BEGINNING },
    },
    event: { kind: 'opened', attack, atMs: moment.atMs, quietMs: 0 },
  };
}

function endsOf({ pps, bps }: Baseline, limits: Limits): Limits {
  const end = (usual: number, limit: number): number =>
    limit - (limit - Math.min(usual, limit)) * END_SHARE;
  return { pps: end(pps, limits.pps), bps: end(bps, limits.bps) };
}

/** For how long the latest buckets, one by one, have been quiet: the window as a whole shows it later. */
function quietSince({ buckets }: Window, ends: Limits): number {
  let quietMs = 0;
  for (const bucket of buckets.toReversed()) {
    if (isBusy(bucket, ends)) break;
    quietMs += bucket.durationMs;
  }
  return quietMs;
}

function isBusy(bucket: Bucket, { pps, bps }: Limits): boolean {
  const seconds = bucket.durationMs / 1000;
  return bucket.loadPackets >= pps * seconds || bucket.loadBits >= bps * seconds;
}

/** The latest that were too much, one after another; the last one in any case. */
function busyBuckets({ buckets }: Window, ends: Limits): readonly Bucket[] {
  const before = buckets.slice(0, -1).findLastIndex((bucket) => !isBusy(bucket, ends));
  return buckets.slice(before + 1);
}

/** Of an attack's subject. */
interface Seen {
  /** What counts for its peaks. */
  readonly measured: Window;
  /** What says whether it goes on; of a prefix, without what an address may get by itself. */
  readonly judged: Window;
}

export function stepOngoing(
  state: SubjectState,
  phase: Ongoing,
  thresholds: Thresholds,
  { measured, judged }: Seen,
  moment: Moment,
): Stepped {
  const { ends } = phase;
  const rates = ratesOf(judged);
  const isQuiet = rates.leastPps < ends.pps && rates.leastBps < ends.bps;
  const quietMs = !isQuiet
    ? 0
    : phase.quietMs > 0
      ? phase.quietMs + moment.durationMs
      : quietSince(judged, ends);
  if (quietMs >= thresholds.holdMs - Math.min(TOLD_MS, thresholds.holdMs * TOLD_SHARE)) {
    const endedAtMs = Math.max(phase.attack.startedAtMs, Math.round(moment.atMs - quietMs));
    const attack = { ...phase.attack, endedAtMs };
    return {
      state: { ...state, phase: { ...phase, name: 'ended', attack, sinceMs: 0 } },
      event: { kind: 'ended', attack, atMs: moment.atMs, quietMs },
    };
  }
  const evidence = isQuiet
    ? phase.evidence
    : addExcess(phase.evidence, state.vectors, moment.durationMs);
  const names = phase.namedMs >= NAMING_MS;
  const ownMs = stillOwn(phase.ownMs, moment);
  const attack = isQuiet
    ? phase.attack
    : {
        ...phase.attack,
        ...(names ? classify(evidence, thresholds) : {}),
        ...higherPeaks(phase.attack, ownMs === null ? measured : latest(measured, ownMs)),
      };
  const namedMs = names ? 0 : phase.namedMs + moment.durationMs;
  const kept = { ...phase, attack, evidence, quietMs, namedMs, ownMs };
  return {
    state: { ...state, phase: kept },
    event: isNews(phase.attack, attack)
      ? { kind: 'changed', attack, atMs: moment.atMs, quietMs }
      : null,
  };
}

/** Once it is longer than anything that is measured, it is no matter. */
function stillOwn(ownMs: number | null, { durationMs }: Moment): number | null {
  return ownMs === null || ownMs + durationMs > SHORT_MS ? null : ownMs + durationMs;
}

/**
 * Goes on as another attack, which began then: by what has come since, and the limits of who has the subject now.
 * `measured` as for `open`.
 */
export function beginAnew(
  state: SubjectState & { readonly phase: Ongoing },
  measured: Window,
  thresholds: Thresholds,
  startedAtMs: number,
  atMs: number,
): SubjectState & { readonly phase: Ongoing } {
  const { phase, baseline } = state;
  const ownMs = Math.max(0, atMs - startedAtMs);
  const { pps, bps } = peaksOf(latest(measured, ownMs));
  const { subject } = phase.attack;
  const id = `${subject}@${startedAtMs}`;
  const attack = { ...phase.attack, id, startedAtMs, peakPps: pps, peakBps: bps };
  const limits = limitsOf(baseline, thresholds);
  const ends = endsOf(baseline, limits);
  return {
    ...state,
    window: restart(state.window, latest(state.window, ownMs).buckets.length),
    phase: {
      ...phase,
      attack,
      limits,
      ends,
      evidence: createTotals(),
      namedMs: 0,
      ownMs: ownMs > SHORT_MS ? null : ownMs,
    },
  };
}

/** It is not looked at any longer, and had been quiet. */
export function endNow({ attack, quietMs }: Ongoing, { atMs }: Moment): AttackEvent {
  const endedAtMs = Math.max(attack.startedAtMs, Math.round(atMs - quietMs));
  return { kind: 'ended', attack: { ...attack, endedAtMs }, atMs, quietMs };
}

function higherPeaks(attack: Attack, measured: Window): Pick<Attack, 'peakPps' | 'peakBps'> {
  const { pps, bps } = peaksOf(measured);
  return { peakPps: higher(attack.peakPps, pps), peakBps: higher(attack.peakBps, bps) };
}

/** What is the same is known better by so much less error at least: else the largest of many would be taken for it. */
const BETTER = 0.9;

/**
 * A peak of samples rises beyond its bounds, or to what is known better: of many seconds that are the same but for
 * chance the highest is no peak, however long the attack lasts.
 */
function higher(before: Measured, now: Measured): Measured {
  if (now.value <= before.value) return before;
  const isBetter = errorOf(now) < errorOf(before) * BETTER;
  return now.value > before.high || isBetter ? now : before;
}

/** As a part of it: what rises is known worse in packets for that alone. */
function errorOf({ value, high }: Measured): number {
  return (high - value) / value;
}

function isNews(before: Attack, now: Attack): boolean {
  return (
    before.type !== now.type ||
    now.peakPps.value > before.peakPps.value * NEWS ||
    now.peakBps.value > before.peakBps.value * NEWS
  );
}

/** After its end: the same again, or forgotten. */
export function stepEnded(
  state: SubjectState,
  phase: Ended,
  again: boolean,
  moment: Moment,
): Stepped {
  if (again) {
    const attack = { ...phase.attack, endedAtMs: null };
    const { limits, ends, evidence } = phase;
    return {
      state: {
        ...state,
        phase: { name: 'ongoing', attack, limits, ends, evidence, ...BEGINNING },
      },
      event: { kind: 'continued', attack, atMs: moment.atMs, quietMs: 0 },
    };
  }
  const sinceMs = phase.sinceMs + moment.durationMs;
  const next: Phase = sinceMs >= MERGE_MS ? QUIET : { ...phase, sinceMs };
  return { state: { ...state, phase: next }, event: null };
}

export function createVectors(): Vectors {
  return { usual: createTotals(), recent: createTotals() };
}

/** Adds what the recent past holds beyond the usual, as much as would come in so long a time. */
function addExcess(
  evidence: VectorTotals,
  { usual, recent }: Vectors,
  durationMs: number,
): VectorTotals {
  const seconds = durationMs / 1000;
  const next = evidence.slice();
  for (let index = 0; index < next.length; index++) {
    const excess = (recent[index] as number) * perSecond - (usual[index] as number);
    if (excess > 0) next[index] = (next[index] as number) + excess * seconds;
  }
  return next;
}

// Loops rather than `map`: these run for every subject in every bucket.

function scaled(values: VectorTotals, factor: number): VectorTotals {
  const next = values.slice();
  for (let index = 0; index < next.length; index++) next[index] = (next[index] as number) * factor;
  return next;
}

function mixed(a: VectorTotals, ofA: number, b: VectorTotals, ofB: number): VectorTotals {
  const next = a.slice();
  for (let index = 0; index < next.length; index++) {
    next[index] = (a[index] as number) * ofA + (b[index] as number) * ofB;
  }
  return next;
}
