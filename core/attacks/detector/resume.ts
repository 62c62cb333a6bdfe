import type { Attack, Thresholds } from '../attack.ts';
import { type Baseline, quietBaseline } from './baseline.ts';
import { classify, createTotals } from '../classify.ts';
import type { DetectorState } from './detector.ts';
import { NONE_PRESENT } from './present-types.ts';
import {
  NEW_ATTACK_TIMES,
  startNewRecord,
  createVectors,
  type Ongoing,
  type SubjectState,
} from './subject.ts';
import { EMPTY, subtract } from './window.ts';

/** The state with which another detector continues an attack. */
export interface Resumable {
  readonly attack: Attack;
  readonly prefix: string | null;
  readonly limits: Pick<Thresholds, 'pps' | 'bps'>;
  readonly ends: Pick<Thresholds, 'pps' | 'bps'>;
  readonly baseline: Baseline;
  /** Packets and bytes interleaved, by vector. */
  readonly evidence: readonly number[];
  readonly moves: boolean;
}

/** The ongoing attacks by subject. */
export function ongoingIn(state: DetectorState): Map<string, SubjectState & { phase: Ongoing }> {
  const found = new Map<string, SubjectState & { phase: Ongoing }>();
  for (const [subject, one] of [...state.addresses, ...state.prefixes]) {
    const { phase } = one;
    if (phase.name === 'ongoing') found.set(subject, { ...one, phase });
  }
  return found;
}

export function ongoingOf(
  { addresses, prefixes }: DetectorState,
  subject: string,
): (SubjectState & { phase: Ongoing }) | null {
  const one = addresses.get(subject) ?? prefixes.get(subject);
  return one?.phase.name === 'ongoing' ? { ...one, phase: one.phase } : null;
}

export function toResumable({
  prefix,
  baseline,
  phase,
}: SubjectState & { phase: Ongoing }): Resumable {
  const { attack, limits, ends, evidence, moves } = phase;
  return { attack, prefix, limits, ends, baseline, evidence: [...evidence], moves };
}

/** The state for an attack of which only the record exists: without a baseline. */
export function resumableOf(
  attack: Attack,
  prefix: string | null,
  { pps, bps }: Thresholds,
): Resumable {
  return {
    attack,
    prefix,
    limits: { pps, bps },
    ends: { pps: pps / 2, bps: bps / 2 },
    baseline: quietBaseline(0),
    evidence: [],
    moves: false,
  };
}

/** Continues an attack of another detector, unless it is ongoing here already. */
export function resume(state: DetectorState, known: Resumable): DetectorState {
  const { subject } = known.attack;
  const isPrefix = subject.includes('/');
  const before = (isPrefix ? state.prefixes : state.addresses).get(subject);
  if (before?.phase.name === 'ongoing') return state;
  const evidence = createTotals();
  if (known.evidence.length === evidence.length) evidence.set(known.evidence);
  const resumed: SubjectState = {
    prefix: known.prefix,
    window: before?.window ?? EMPTY,
    baseline: known.baseline,
    vectors: before?.vectors ?? createVectors(),
    excessBuckets: 0,
    phase: {
      name: 'ongoing',
      attack: { ...known.attack, endedAtMs: null },
      limits: known.limits,
      ends: known.ends,
      evidence,
      present: NONE_PRESENT,
      pulses: 0,
      moves: known.moves,
      ...NEW_ATTACK_TIMES,
    },
  };
  return withSubject(state, subject, resumed);
}

/** Turns the ongoing attack on a subject into a new record; nothing else changes. */
export function handOver(
  state: DetectorState,
  subject: string,
  thresholds: Thresholds,
  startedAtMs: number,
  atMs: number,
): DetectorState {
  const one = ongoingOf(state, subject);
  if (one === null) return state;
  const isPrefix = subject.includes('/');
  const others = isPrefix ? [...state.addresses.values()] : [];
  const attacked = others.filter(
    ({ prefix, phase }) => prefix === subject && phase.name === 'ongoing',
  );
  const measured = subtract(
    one.window,
    attacked.map(({ window }) => window),
  );
  const renewed = startNewRecord(one, measured, thresholds, startedAtMs, atMs);
  return withSubject(state, subject, renewed);
}

/** The opened attack is a known one: it keeps its traffic and limits. */
export function continueAs(
  state: DetectorState,
  known: Resumable,
  thresholds: Thresholds,
): DetectorState {
  const { subject, id, startedAtMs, peakPps, peakBps } = known.attack;
  const one = ongoingOf(state, subject);
  if (one === null) return state;
  const { attack, evidence: newer } = one.phase;
  const evidence = newer.slice();
  if (known.evidence.length === evidence.length) {
    for (const [index, amount] of known.evidence.entries()) {
      evidence[index] = (newer[index] as number) + amount;
    }
  }
  const whole: SubjectState = {
    ...one,
    baseline: known.baseline,
    phase: {
      ...one.phase,
      attack: {
        ...attack,
        ...classify(evidence, thresholds),
        id,
        startedAtMs,
        peakPps: peakPps.value > attack.peakPps.value ? peakPps : attack.peakPps,
        peakBps: peakBps.value > attack.peakBps.value ? peakBps : attack.peakBps,
      },
      limits: known.limits,
      ends: known.ends,
      evidence,
      moves: one.phase.moves || known.moves,
    },
  };
  return withSubject(state, subject, whole);
}

function withSubject(state: DetectorState, subject: string, one: SubjectState): DetectorState {
  return subject.includes('/')
    ? { ...state, prefixes: new Map(state.prefixes).set(subject, one) }
    : { ...state, addresses: new Map(state.addresses).set(subject, one) };
}
