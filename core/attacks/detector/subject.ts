import type { Attack, AttackEvent, Measured, Thresholds } from '../attack.ts';
import { type Baseline, learn, limitsOf } from './baseline.ts';
import { classify, createTotals, type VectorTotals } from '../classify.ts';
import { type PresentTypes, presentTypes, startPresent, stepPresent } from './present-types.ts';
import { BUCKET_MS, type VectorCount } from '../sample.ts';
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

/** The state of a tracked subject. */
export interface SubjectState {
  readonly prefix: string | null;
  readonly window: Window;
  readonly baseline: Baseline;
  readonly vectors: Vectors;
  /** For a prefix: the number of buckets in which few addresses together exceeded its limit. */
  readonly excessBuckets: number;
  readonly phase: Phase;
}

/** Packets and bytes by vector. */
export interface Vectors {
  /** The usual traffic per second, learned like the baseline. */
  readonly usual: VectorTotals;
  /** The recent traffic, with decay. */
  readonly recent: VectorTotals;
  /** That of the latest bucket, per second. */
  readonly latest: VectorTotals;
}

export type Phase = { readonly name: 'quiet' } | Ongoing | Ended;

interface Recorded {
  readonly attack: Attack;
  /** The limits at the start of the attack, frozen while it lasts. */
  readonly limits: Limits;
  /** Below these limits it is quiet. */
  readonly ends: Limits;
  /** The traffic beyond the usual since the start, by vector. */
  readonly evidence: VectorTotals;
  readonly present: PresentTypes;
  /** How often the record has been continued: pulses. */
  readonly pulses: number;
  /** True for a prefix: it moves from address to address, so all traffic of the prefix belongs to it. */
  readonly moves: boolean;
}

export interface Ongoing extends Recorded {
  readonly name: 'ongoing';
  /** The time since the last classification. */
  readonly classifiedMs: number;
  /** How long it has been below the quiet limits. */
  readonly quietMs: number;
  /**
   * The part of the past that belongs to this attack. Null means all of it; earlier traffic belonged to another holder.
   */
  readonly ownMs: number | null;
}

export interface Ended extends Recorded {
  readonly name: 'ended';
  readonly sinceMs: number;
}

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

export const QUIET: Phase = { name: 'quiet' };
/** For an attack that has just started or continued. */
export const NEW_ATTACK_TIMES = { quietMs: 0, classifiedMs: 0, ownMs: null } as const;

/** An attack that starts again within this time is the same one. */
const MERGE_MS = 300_000;
/**
 * The quiet limit is halfway between the usual traffic and the limits. This hysteresis prevents repeated ends and
 * starts, and a download does not prolong the attack.
 */
const END_SHARE = 0.5;
/**
 * The record must be closed within the hold time. The last packet is up to a bucket older than the quiet time, and
 * counting, reporting and writing take half a second. For short hold times the margin is at most a quarter.
 */
const REPORT_MARGIN_MS = 3 * BUCKET_MS;
const REPORT_MARGIN_SHARE = 0.25;
/** A pause of pulses that were seen does not end the attack: the hold time doubles with each, up to this. */
const LONGEST_PAUSE_MS = 60_000;
/** A peak must rise by this factor for an event. */
const REPORTED_RISE = 1.02;
/** The interval of classification. */
const CLASSIFY_INTERVAL_MS = 1000;
const RECENT_FADE_MS = 1500;
/** The time constant of usual vectors: a minute. */
const USUAL_FADE_MS = 60_000;

export interface BucketTime {
  readonly atMs: number;
  readonly durationMs: number;
}

export interface Stepped {
  readonly state: SubjectState;
  readonly event: AttackEvent | null;
}

/** Certainly and at present: the long past alone stays above the limits long after the end. */
export function exceedsLimits(rates: Rates, limits: Limits): boolean {
  return (
    (rates.surePps >= limits.pps && rates.pps >= limits.pps) ||
    (rates.sureBps >= limits.bps && rates.bps >= limits.bps)
  );
}

export function addVectors(
  { usual, recent }: Vectors,
  counts: readonly VectorCount[],
  { durationMs }: BucketTime,
): Vectors {
  const kept = Math.exp(-durationMs / RECENT_FADE_MS);
  const next = scaled(recent, kept);
  // Most subjects have no counts, and share what is empty.
  const latest = counts.length === 0 ? NO_TRAFFIC : createTotals();
  const each = 1000 / durationMs;
  for (const { vector, packets, bytes } of counts) {
    next[vector * 2] = (next[vector * 2] as number) + packets;
    next[vector * 2 + 1] = (next[vector * 2 + 1] as number) + bytes;
    latest[vector * 2] = (latest[vector * 2] as number) + packets * each;
    latest[vector * 2 + 1] = (latest[vector * 2 + 1] as number) + bytes * each;
  }
  return { usual, recent: next, latest };
}

const NO_TRAFFIC = createTotals();

/** A step without an attack: updates the baseline. */
export function stepQuiet(
  state: SubjectState,
  rates: Pick<Rates, 'pps' | 'bps'>,
  { durationMs }: BucketTime,
): SubjectState {
  const { usual, recent, latest } = state.vectors;
  const weight = Math.min(1, durationMs / USUAL_FADE_MS);
  return {
    ...state,
    baseline: learn(state.baseline, rates, durationMs),
    vectors: {
      recent,
      latest,
      usual: mixed(usual, 1 - weight, recent, perSecond * weight),
    },
  };
}

/** The decayed sum of a constant rate, in seconds. */
const perSecond = 1000 / RECENT_FADE_MS;

/** `measured`: the traffic of this attack; for a prefix, without attacks on single addresses. */
export function open(
  state: SubjectState,
  subject: string,
  thresholds: Thresholds,
  measured: Window,
  bucketTime: BucketTime,
): Stepped {
  const limits = limitsOf(state.baseline, thresholds);
  const evidence = addExcess(createTotals(), state.vectors, SHORT_MS);
  const { type, shares } = classify(evidence, thresholds);
  const present = startPresent(excessOf(state.vectors), thresholds);
  const { pps, bps } = peaksOf(measured);
  const ends = endsOf(state.baseline, limits);
  const busy = busyBuckets(measured, ends);
  const startedAtMs = Math.round(
    busy.reduce((at, { durationMs }) => at - durationMs, bucketTime.atMs),
  );
  const attack: Attack = {
    id: `${subject}@${startedAtMs}`,
    subject,
    type,
    shares,
    present: presentTypes(present),
    peakPps: pps,
    peakBps: bps,
    startedAtMs,
    endedAtMs: null,
  };
  const recorded = { attack, limits, ends, evidence, present, pulses: 0, moves: false };
  return {
    state: {
      ...state,
      window: restart(state.window, busy.length),
      phase: { name: 'ongoing', ...recorded, ...NEW_ATTACK_TIMES },
    },
    event: { kind: 'opened', attack, atMs: bucketTime.atMs, quietMs: 0, partOf: null },
  };
}

function endsOf({ pps, bps }: Baseline, limits: Limits): Limits {
  const end = (usual: number, limit: number): number =>
    limit - (limit - Math.min(usual, limit)) * END_SHARE;
  return { pps: end(pps, limits.pps), bps: end(bps, limits.bps) };
}

/** How long the latest buckets have been quiet one by one; the window as a whole shows it later. */
export function quietSince({ buckets }: Window, ends: Limits): number {
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

/** The latest consecutive buckets above the limits, at least the last one. */
function busyBuckets({ buckets }: Window, ends: Limits): readonly Bucket[] {
  const before = buckets.slice(0, -1).findLastIndex((bucket) => !isBusy(bucket, ends));
  return buckets.slice(before + 1);
}

/** The measurements of an attacked subject. */
interface AttackTraffic {
  /** Counts for the peaks. */
  readonly measured: Window;
  /** Decides whether it continues; for a prefix, without the traffic that a single address may get. */
  readonly evaluated: Window;
}

export function stepOngoing(
  state: SubjectState,
  phase: Ongoing,
  thresholds: Thresholds,
  { measured, evaluated }: AttackTraffic,
  bucketTime: BucketTime,
): Stepped {
  const ends = raisedEnds(state.baseline, phase, thresholds);
  const rates = ratesOf(evaluated);
  const isQuiet = rates.leastPps < ends.pps && rates.leastBps < ends.bps;
  const quietMs = !isQuiet
    ? 0
    : phase.quietMs > 0
      ? phase.quietMs + bucketTime.durationMs
      : quietSince(evaluated, ends);
  const holdMs = holdOf(phase, thresholds);
  if (quietMs >= holdMs - Math.min(REPORT_MARGIN_MS, holdMs * REPORT_MARGIN_SHARE)) {
    return ended(state, phase, quietMs, bucketTime);
  }
  const evidence = isQuiet
    ? phase.evidence
    : addExcess(phase.evidence, state.vectors, bucketTime.durationMs);
  const latestExcess = beyondUsual(state.vectors.latest, state.vectors);
  const { durationMs } = bucketTime;
  const present = stepPresent(phase.present, latestExcess, thresholds, { durationMs, holdMs });
  const reclassifies = phase.classifiedMs >= CLASSIFY_INTERVAL_MS;
  const ownMs = advanceOwnMs(phase.ownMs, bucketTime);
  const attack = isQuiet
    ? phase.attack
    : {
        ...phase.attack,
        ...(reclassifies ? classify(evidence, thresholds) : {}),
        present: presentTypes(present),
        ...higherPeaks(phase.attack, ownMs === null ? measured : latest(measured, ownMs)),
      };
  const classifiedMs = reclassifies ? 0 : phase.classifiedMs + bucketTime.durationMs;
  const kept = { ...phase, attack, evidence, present, quietMs, classifiedMs, ownMs };
  return {
    state: { ...state, phase: kept },
    event: isReportable(phase.attack, attack)
      ? { kind: 'changed', attack, atMs: bucketTime.atMs, quietMs, partOf: null }
      : null,
  };
}

function ended(
  state: SubjectState,
  phase: Ongoing,
  quietMs: number,
  { atMs }: BucketTime,
): Stepped {
  const endedAtMs = Math.max(phase.attack.startedAtMs, Math.round(atMs - quietMs));
  const attack = { ...phase.attack, endedAtMs };
  return {
    state: { ...state, phase: { ...phase, name: 'ended', attack, sinceMs: 0 } },
    event: { kind: 'ended', attack, atMs, quietMs, partOf: null },
  };
}

/** How long an attack is quiet until it has ended. */
function holdOf({ pulses }: Recorded, { holdMs }: Thresholds): number {
  return Math.min(holdMs * 2 ** pulses, Math.max(holdMs, LONGEST_PAUSE_MS));
}

/** Thresholds that were raised during the attack, because its traffic is usual, end it. */
function raisedEnds(baseline: Baseline, { limits, ends, moves }: Ongoing, now: Limits): Limits {
  if (moves || (now.pps <= limits.pps && now.bps <= limits.bps)) return ends;
  const raised = endsOf(baseline, {
    pps: Math.max(limits.pps, now.pps),
    bps: Math.max(limits.bps, now.bps),
  });
  return { pps: Math.max(ends.pps, raised.pps), bps: Math.max(ends.bps, raised.bps) };
}

/** It has no effect once it is longer than every window. */
function advanceOwnMs(ownMs: number | null, { durationMs }: BucketTime): number | null {
  return ownMs === null || ownMs + durationMs > SHORT_MS ? null : ownMs + durationMs;
}

/**
 * Continues as another attack that started at this time, with the traffic since and the limits of the present holder.
 * `measured` as for `open`.
 */
export function startNewRecord(
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
      classifiedMs: 0,
      ownMs: ownMs > SHORT_MS ? null : ownMs,
    },
  };
}

/** Ends an attack that is no longer tracked, or is part of another from now on. */
export function endNow(
  { attack, quietMs }: Ongoing,
  { atMs }: BucketTime,
  partOf: string | null = null,
): AttackEvent {
  const endedAtMs = Math.max(attack.startedAtMs, Math.round(atMs - quietMs));
  return { kind: 'ended', attack: { ...attack, endedAtMs }, atMs, quietMs, partOf };
}

function higherPeaks(attack: Attack, measured: Window): Pick<Attack, 'peakPps' | 'peakBps'> {
  const { pps, bps } = peaksOf(measured);
  return { peakPps: higher(attack.peakPps, pps), peakBps: higher(attack.peakBps, bps) };
}

/** An equal rate replaces a peak only with an error smaller by this factor, or the largest of many would be chosen. */
const BETTER_ERROR_RATIO = 0.9;

/**
 * A sampled peak rises only beyond its error bounds or to a more precise value. Otherwise the highest of many equal
 * seconds would become the peak by chance.
 */
function higher(before: Measured, now: Measured): Measured {
  if (now.value <= before.value) return before;
  const isBetter = errorOf(now) < errorOf(before) * BETTER_ERROR_RATIO;
  return now.value > before.high || isBetter ? now : before;
}

/** The relative error. */
function errorOf({ value, high }: Measured): number {
  return (high - value) / value;
}

function isReportable(before: Attack, now: Attack): boolean {
  return (
    before.type !== now.type ||
    before.present?.join() !== now.present?.join() ||
    now.peakPps.value > before.peakPps.value * REPORTED_RISE ||
    now.peakBps.value > before.peakBps.value * REPORTED_RISE
  );
}

/** After the end: continues or is dropped. */
export function stepEnded(
  state: SubjectState,
  phase: Ended,
  again: boolean,
  bucketTime: BucketTime,
): Stepped {
  if (again) {
    // What came before the pause is part of the record and its name, and says nothing about what comes now.
    const present = startPresent(excessOf(state.vectors), phase.limits);
    const attack = { ...phase.attack, present: presentTypes(present), endedAtMs: null };
    const { sinceMs: _sinceMs, ...recorded } = phase;
    const again = { ...recorded, attack, present, pulses: phase.pulses + 1 };
    return {
      state: { ...state, phase: { ...again, name: 'ongoing', ...NEW_ATTACK_TIMES } },
      event: { kind: 'continued', attack, atMs: bucketTime.atMs, quietMs: 0, partOf: null },
    };
  }
  const sinceMs = phase.sinceMs + bucketTime.durationMs;
  const next: Phase = sinceMs >= MERGE_MS ? QUIET : { ...phase, sinceMs };
  return { state: { ...state, phase: next }, event: null };
}

export function createVectors(): Vectors {
  return { usual: createTotals(), recent: createTotals(), latest: NO_TRAFFIC };
}

/** The recent traffic per second beyond the usual. */
function excessOf(vectors: Vectors): VectorTotals {
  return beyondUsual(scaled(vectors.recent, perSecond), vectors);
}

function beyondUsual(rates: VectorTotals, { usual }: Vectors): VectorTotals {
  return rates.map((rate, index) => Math.max(0, rate - (usual[index] as number)));
}

/** Adds the recent traffic beyond the usual, scaled to the duration. */
function addExcess(evidence: VectorTotals, vectors: Vectors, durationMs: number): VectorTotals {
  const seconds = durationMs / 1000;
  const excess = excessOf(vectors);
  return evidence.map((amount, index) => amount + (excess[index] as number) * seconds);
}

// Loops instead of `map`: this runs for every subject in every bucket.

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
