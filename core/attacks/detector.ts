import type { AttackEvent, Thresholds } from './attack.ts';
import { type Baseline, calm, inherited, limitsOf } from './baseline.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from './sample.ts';
import {
  createVectors,
  type Moment,
  noteVectors,
  open,
  type Phase,
  QUIET,
  stepEnded,
  type Stepped,
  stepOngoing,
  stepQuiet,
  type SubjectState,
  tooMuch,
} from './subject.ts';
import { bucketOf, EMPTY, push, type Rates, ratesOf, subtract, type Window } from './window.ts';

export interface DetectorSettings {
  /** Of an address or prefix: the nearest scope's. */
  readonly thresholdsOf: (subject: string) => Thresholds;
  /** Subjects that are remembered at a time; of more, only their prefixes are judged. */
  readonly maxSubjects: number;
}

/**
 * Subjects that get too little to become an attack are in no state at all, so it is small and `step` may make it anew.
 */
export interface DetectorState {
  /** For how long it has been watched. */
  readonly watchedMs: number;
  readonly addresses: ReadonlyMap<string, SubjectState>;
  readonly prefixes: ReadonlyMap<string, SubjectState>;
}

export const INITIAL: DetectorState = { watchedMs: 0, addresses: new Map(), prefixes: new Map() };

/** Below this part of a threshold a subject is not looked at: three times as much is usual nowhere. */
const WARM = 0.125;
/** A subject is forgotten when it is usually below this, and so now. */
const COLD = 0.0625;
/** A prefix holds many hosts: what is usual is learnt before it is judged. */
const LEARNING_MS = 30_000;
/** An attack is on the prefix when no address gets as much of it as this; on an address when it gets a half. */
const SPREAD_SHARE = 0.25;
const OWN_SHARE = 0.5;
/** For so long at most an attack is not opened because nothing says yet what kind it is. */
const NAMELESS_BUCKETS = 2;

/** What a subject gets in a bucket from which on the detector wants its vectors: counters need tell no others. */
export function detailOf({ pps, bps }: Pick<Thresholds, 'pps' | 'bps'>): {
  readonly packets: number;
  readonly bytes: number;
} {
  const seconds = BUCKET_MS / 1000;
  return { packets: pps * COLD * seconds, bytes: (bps / 8) * COLD * seconds };
}

interface Judged {
  readonly state: SubjectState;
  readonly rates: Rates;
  readonly thresholds: Thresholds;
}

/** One bucket further. Neither clock nor state but the arguments; the old state stays what it was. */
export function step(
  state: DetectorState,
  sample: Sample,
  settings: DetectorSettings,
): { readonly state: DetectorState; readonly events: readonly AttackEvent[] } {
  const events: AttackEvent[] = [];
  const sizes = new PrefixSizes(sample);
  const members = note(state.addresses, sample.addresses, sample, settings, (one) =>
    inheritedBy(one, state, sizes),
  );
  const around = note(state.prefixes, sample.prefixes, sample, settings, () =>
    calm(state.watchedMs),
  );
  const byPrefix = Map.groupBy(members, ([, { state: member }]) => member.prefix);
  const prefixes = new Map<string, SubjectState>();
  const take = (into: Map<string, SubjectState>, subject: string, stepped: Stepped): void => {
    if (stepped.event !== null) events.push(stepped.event);
    if (isWorthKeeping(stepped.state, settings.thresholdsOf(subject))) {
      into.set(subject, stepped.state);
    }
  };
  for (const [prefix, judged] of around) {
    const inside = byPrefix.get(prefix)?.map(([, member]) => member) ?? [];
    take(prefixes, prefix, stepPrefix(prefix, judged, inside, sample));
  }
  const addresses = new Map<string, SubjectState>();
  for (const [address, judged] of members) {
    const prefix = judged.state.prefix;
    const outer = prefix === null ? undefined : prefixes.get(prefix);
    take(addresses, address, stepAddress(address, judged, outer, sample));
  }
  const watchedMs = state.watchedMs + sample.durationMs;
  return { state: { watchedMs, addresses, prefixes }, events };
}

/** Every subject that is remembered or gets enough, with this bucket in its window. */
function note(
  known: ReadonlyMap<string, SubjectState>,
  samples: readonly SubjectSample[],
  moment: Moment,
  { thresholdsOf, maxSubjects }: DetectorSettings,
  baselineOf: (one: SubjectSample) => Baseline,
): Map<string, Judged> {
  const judged = new Map<string, Judged>();
  let room = maxSubjects - known.size;
  for (const one of samples) {
    const thresholds = thresholdsOf(one.subject);
    const before = known.get(one.subject);
    if (before === undefined) {
      if (!isWarm(one, moment, thresholds) || room <= 0) continue;
      room--;
    }
    const state = before ?? created(one.prefix, baselineOf(one));
    judged.set(one.subject, noteBucket(state, one, moment, thresholds));
  }
  for (const [subject, state] of known) {
    if (judged.has(subject)) continue;
    judged.set(subject, noteBucket(state, null, moment, thresholdsOf(subject)));
  }
  return judged;
}

function created(prefix: string | null, baseline: Baseline): SubjectState {
  return { prefix, window: EMPTY, baseline, vectors: createVectors(), phase: QUIET };
}

function noteBucket(
  before: SubjectState,
  one: SubjectSample | null,
  moment: Moment,
  thresholds: Thresholds,
): Judged {
  const bucket = bucketOf(one, moment.durationMs, before.prefix === null);
  const window = push(before.window, bucket);
  const vectors = noteVectors(before.vectors, one?.vectors ?? [], moment);
  return { state: { ...before, window, vectors }, rates: ratesOf(window), thresholds };
}

function isWarm(one: SubjectSample, { durationMs }: Moment, { pps, bps }: Thresholds): boolean {
  const seconds = durationMs / 1000;
  return one.packets >= pps * WARM * seconds || one.bytes * 8 >= bps * WARM * seconds;
}

function isWorthKeeping(
  { phase, baseline, window }: SubjectState,
  { pps, bps }: Thresholds,
): boolean {
  if (phase.name !== 'quiet') return true;
  const { faded } = window;
  const seconds = Math.max(1, faded.durationMs / 1000);
  return (
    baseline.pps > pps * COLD ||
    baseline.bps > bps * COLD ||
    faded.packets / seconds > pps * COLD ||
    faded.bits / seconds > bps * COLD
  );
}

/** A new address is expected to get an equal part of what its prefix gets. */
function inheritedBy(
  { prefix }: SubjectSample,
  { prefixes, watchedMs }: DetectorState,
  sizes: PrefixSizes,
): Baseline {
  const outer = prefix === null ? undefined : prefixes.get(prefix);
  if (prefix === null || outer === undefined) return inherited(null, 1, watchedMs);
  return inherited(outer.baseline, sizes.of(prefix), watchedMs);
}

/** How many addresses of each prefix got something; counted when it is first asked for. */
class PrefixSizes {
  readonly #sample: Sample;
  #sizes: Map<string, number> | null = null;

  constructor(sample: Sample) {
    this.#sample = sample;
  }

  of(prefix: string): number {
    this.#sizes ??= this.#count();
    return this.#sizes.get(prefix) ?? 0;
  }

  #count(): Map<string, number> {
    const sizes = new Map<string, number>();
    for (const { prefix } of this.#sample.addresses) {
      if (prefix !== null) sizes.set(prefix, (sizes.get(prefix) ?? 0) + 1);
    }
    return sizes;
  }
}

function stepPrefix(
  prefix: string,
  { state, thresholds }: Judged,
  members: readonly Judged[],
  moment: Moment,
): Stepped {
  const attacked = members.filter((member) => member.state.phase.name === 'ongoing');
  const rest = subtract(
    state.window,
    attacked.map((member) => member.state.window),
  );
  const rates = ratesOf(rest);
  const { phase } = state;
  if (phase.name === 'ongoing') return stepOngoing(state, phase, thresholds, rest, rates, moment);
  const limits = limitsOf(state.baseline, thresholds);
  const others = members.filter((member) => member.state.phase.name !== 'ongoing');
  const isLearning = state.baseline.learntMs < LEARNING_MS;
  const begins =
    !isLearning &&
    tooMuch(rates, phaseLimits(phase) ?? limits) &&
    isNameable(state) &&
    others.every((member) => shareOf(member.rates, rates, thresholds) < SPREAD_SHARE);
  const learns = isLearning || isUsual(rates, limits);
  return stepIdle(prefix, { state, rates, thresholds }, rest, { begins, learns }, moment);
}

function stepAddress(
  address: string,
  judged: Judged,
  outer: SubjectState | undefined,
  moment: Moment,
): Stepped {
  const { state, rates, thresholds } = judged;
  const { phase, window } = state;
  if (phase.name === 'ongoing') return stepOngoing(state, phase, thresholds, window, rates, moment);
  const limits = phaseLimits(phase) ?? limitsOf(state.baseline, thresholds);
  // What is spread over a prefix is one attack, on the prefix; its part here is not usual here.
  const spread = outer?.phase.name === 'ongoing';
  const own = !spread || shareOf(rates, ratesOf(outer.window), thresholds) >= OWN_SHARE;
  const decided = {
    begins: own && tooMuch(rates, limits) && isNameable(state),
    learns: !spread && isUsual(rates, limits),
  };
  return stepIdle(address, judged, window, decided, moment);
}

/** Without an attack now: one begins, one goes on, or what came is usual. */
function stepIdle(
  subject: string,
  { state, rates, thresholds }: Judged,
  measured: Window,
  { begins, learns }: { readonly begins: boolean; readonly learns: boolean },
  moment: Moment,
): Stepped {
  const { phase } = state;
  if (phase.name === 'ended') return stepEnded(state, phase, begins, moment);
  if (begins) return open(state, subject, thresholds, measured, moment);
  return { state: learns ? stepQuiet(state, rates, moment) : state, event: null };
}

/** Counters that only tell vectors of who gets much are given two buckets to do so. */
function isNameable({ window, vectors }: SubjectState): boolean {
  return window.buckets.length > NAMELESS_BUCKETS || vectors.recent.some((amount) => amount > 0);
}

function isUsual(rates: Rates, { pps, bps }: Pick<Thresholds, 'pps' | 'bps'>): boolean {
  return rates.pps < pps && rates.bps < bps;
}

function phaseLimits(phase: Phase): Pick<Thresholds, 'pps' | 'bps'> | null {
  return phase.name === 'quiet' ? null : phase.limits;
}

/** How much of what a prefix gets one of its addresses has, in whatever is nearer to its threshold. */
function shareOf(part: Rates, whole: Rates, { pps, bps }: Thresholds): number {
  const inPackets = whole.pps / pps >= whole.bps / bps;
  const [some, all] = inPackets ? [part.pps, whole.pps] : [part.bps, whole.bps];
  return all <= 0 ? 0 : some / all;
}
