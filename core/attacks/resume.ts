import type { Attack, Thresholds } from './attack.ts';
import { type Baseline, calm } from './baseline.ts';
import { createTotals } from './classify.ts';
import type { DetectorState } from './detector.ts';
import { createVectors, type Ongoing, type SubjectState } from './subject.ts';
import { EMPTY } from './window.ts';

/** What another detector needs to go on with an attack. */
export interface Resumable {
  readonly attack: Attack;
  readonly prefix: string | null;
  readonly limits: Pick<Thresholds, 'pps' | 'bps'>;
  readonly ends: Pick<Thresholds, 'pps' | 'bps'>;
  readonly baseline: Baseline;
  /** By vector, packets and bytes by turns. */
  readonly evidence: readonly number[];
}

/** Every attack that goes on, by subject. */
export function ongoingIn(state: DetectorState): Map<string, SubjectState & { phase: Ongoing }> {
  const found = new Map<string, SubjectState & { phase: Ongoing }>();
  for (const [subject, one] of [...state.addresses, ...state.prefixes]) {
    const { phase } = one;
    if (phase.name === 'ongoing') found.set(subject, { ...one, phase });
  }
  return found;
}

export function toResumable({
  prefix,
  baseline,
  phase,
}: SubjectState & { phase: Ongoing }): Resumable {
  const { attack, limits, ends, evidence } = phase;
  return { attack, prefix, limits, ends, baseline, evidence: [...evidence] };
}

/** Of an attack of which nothing but the record is left: as if nothing had been usual. */
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
    baseline: calm(0),
    evidence: [],
  };
}

/** Goes on with an attack that another detector saw, unless it is known to go on already. */
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
    phase: {
      name: 'ongoing',
      attack: { ...known.attack, endedAtMs: null },
      limits: known.limits,
      ends: known.ends,
      evidence,
      quietMs: 0,
      namedMs: 0,
    },
  };
  return isPrefix
    ? { ...state, prefixes: new Map(state.prefixes).set(subject, resumed) }
    : { ...state, addresses: new Map(state.addresses).set(subject, resumed) };
}
