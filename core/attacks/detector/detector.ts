import type { AttackEvent, Thresholds } from '../attack.ts';
import { type Baseline, quietBaseline, inheritedBaseline, limitsOf } from './baseline.ts';
import { type SubjectStrength, planExchanges } from './slot-exchange.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '../sample.ts';
import { hasKnownVectors, isUsual, phaseLimits } from './phase-limits.ts';
import { stepPrefix } from './prefix.ts';
import { type EvaluatedSubject, shareOf } from './prefix-spread.ts';
import {
  createVectors,
  endNow,
  type BucketTime,
  addVectors,
  open,
  QUIET,
  stepEnded,
  type Stepped,
  stepOngoing,
  stepQuiet,
  type Phase,
  type SubjectState,
  exceedsLimits,
} from './subject.ts';
import { bucketOf, EMPTY, isStillThere, push, type Rates, ratesOf } from './window.ts';

export interface DetectorSettings {
  /** The thresholds of the nearest scope. */
  readonly thresholdsOf: (subject: string) => Thresholds;
  /** The most tracked subjects; beyond it, those with the most traffic and all prefixes. */
  readonly maxSubjects: number;
}

/** Subjects with little traffic have no state, so the state is small and `step` can copy it. */
export interface DetectorState {
  /** The time since the start of detection. */
  readonly watchedMs: number;
  readonly addresses: ReadonlyMap<string, SubjectState>;
  readonly prefixes: ReadonlyMap<string, SubjectState>;
}

export const INITIAL: DetectorState = { watchedMs: 0, addresses: new Map(), prefixes: new Map() };

/** Below this share of its threshold a subject is not tracked. */
const TRACK_SHARE = 0.125;
/** A subject is dropped when its usual and its present traffic are below this share. */
const DROP_SHARE = 0.0625;
/** During an attack on a prefix, an address gets its own record above this share of the traffic. */
const OWN_SHARE = 0.5;
/** An attack that is quiet for this time may lose its slot to an ongoing one. */
const RELEASE_QUIET_MS = 5_000;

/** The traffic in a bucket above which the detector needs a subject's vectors. */
export function detailOf({ pps, bps }: Limits): {
  readonly packets: number;
  readonly bytes: number;
} {
  const seconds = BUCKET_MS / 1000;
  return { packets: pps * DROP_SHARE * seconds, bytes: (bps / 8) * DROP_SHARE * seconds };
}

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

/** A bucket, and the receiver of attacks that lost their slot, which ends them. */
interface BucketContext {
  readonly sample: Sample;
  readonly settings: DetectorSettings;
  readonly ended: (event: AttackEvent) => void;
  /** The limits whose share decides about tracking: an address also counts for its prefix. */
  readonly floorOf: (prefix: string | null, own: Thresholds) => Limits;
  /** Tracked whatever its traffic. */
  readonly isWanted: (subject: string) => boolean;
}

/** Processes one bucket. A pure function: the old state is unchanged. */
export function step(
  state: DetectorState,
  sample: Sample,
  settings: DetectorSettings,
): { readonly state: DetectorState; readonly events: readonly AttackEvent[] } {
  const events: AttackEvent[] = [];
  const ended = (event: AttackEvent): void => void events.push(event);
  const { prefixSubjects, members, floorOf } = evaluate(state, sample, settings, ended);
  const byPrefix = Map.groupBy(members, ([, { state: member }]) => member.prefix);
  const prefixes = new Map<string, SubjectState>();
  const take = (
    into: Map<string, SubjectState>,
    subject: string,
    { thresholds }: EvaluatedSubject,
    stepped: Stepped,
  ): void => {
    if (stepped.event !== null) events.push(stepped.event);
    if (isWorthKeeping(stepped.state, floorOf(stepped.state.prefix, thresholds))) {
      into.set(subject, stepped.state);
    }
  };
  const waiting = new Set<EvaluatedSubject>();
  const parts = new Map<Phase, string>();
  for (const [prefix, evaluated] of prefixSubjects) {
    const inside = byPrefix.get(prefix)?.map(([, member]) => member) ?? [];
    const stepped = stepPrefix(prefix, evaluated, inside, sample);
    take(prefixes, prefix, evaluated, stepped);
    for (const member of stepped.waiting) waiting.add(member);
    for (const part of stepped.parts) parts.set(part, prefix);
  }
  const addresses = new Map<string, SubjectState>();
  for (const [address, evaluated] of members) {
    const prefix = evaluated.state.prefix;
    const outer = prefix === null ? undefined : prefixes.get(prefix);
    const around = {
      outer,
      mayOpen: !waiting.has(evaluated),
      partOf: parts.get(evaluated.state.phase) ?? null,
    };
    const stepped = stepAddress(address, evaluated, around, sample);
    take(addresses, address, evaluated, stepped);
  }
  const watchedMs = state.watchedMs + sample.durationMs;
  return { state: { watchedMs, addresses, prefixes }, events };
}

interface Evaluated {
  readonly prefixSubjects: ReadonlyMap<string, EvaluatedSubject>;
  readonly members: ReadonlyMap<string, EvaluatedSubject>;
  readonly floorOf: BucketContext['floorOf'];
}

/** Adds the bucket to every subject, prefixes first. */
function evaluate(
  state: DetectorState,
  sample: Sample,
  settings: DetectorSettings,
  ended: BucketContext['ended'],
): Evaluated {
  const sizes = new PrefixSizes(sample);
  const context: BucketContext = {
    sample,
    settings,
    ended,
    floorOf: (_, own) => own,
    isWanted: () => false,
  };
  const attacked = attackedPrefixes(state);
  const ofPrefixes = { ...context, isWanted: (prefix: string) => attacked.has(prefix) };
  const prefixSubjects = addBuckets(state.prefixes, sample.prefixes, ofPrefixes, () =>
    quietBaseline(state.watchedMs),
  );
  const floorOf = (prefix: string | null, own: Thresholds): Limits =>
    prefix === null ? own : lowerLimits(own, prefixSubjects.get(prefix)?.thresholds ?? own);
  const members = addBuckets(state.addresses, sample.addresses, { ...context, floorOf }, (one) =>
    inheritedBy(one, state, sizes),
  );
  return { prefixSubjects, members, floorOf };
}

/** Prefixes of attacked addresses: the next attack may be the same one, moved. */
function attackedPrefixes({ addresses }: DetectorState): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { prefix, phase } of addresses.values()) {
    if (prefix !== null && phase.name === 'ongoing') found.add(prefix);
  }
  return found;
}

/** Adds the bucket to the window of every tracked or busy subject. */
function addBuckets(
  known: ReadonlyMap<string, SubjectState>,
  samples: readonly SubjectSample[],
  context: BucketContext,
  baselineOf: (one: SubjectSample) => Baseline,
): Map<string, EvaluatedSubject> {
  const { sample: bucketTime, settings, floorOf, isWanted } = context;
  const { thresholdsOf, maxSubjects } = settings;
  const evaluated = new Map<string, EvaluatedSubject>();
  const waiting: SubjectSample[] = [];
  let freeSlots = maxSubjects - known.size;
  for (const one of samples) {
    const thresholds = thresholdsOf(one.subject);
    const before = known.get(one.subject);
    if (before === undefined) {
      const floor = floorOf(one.prefix, thresholds);
      if (!isTrackable(one, bucketTime, floor) && !isWanted(one.subject)) continue;
      if (freeSlots <= 0) {
        waiting.push(one);
        continue;
      }
      freeSlots--;
    }
    const state = before ?? created(one.prefix, baselineOf(one));
    evaluated.set(one.subject, addBucket(state, one, bucketTime, thresholds));
  }
  for (const [subject, state] of known) {
    if (evaluated.has(subject)) continue;
    evaluated.set(subject, addBucket(state, null, bucketTime, thresholdsOf(subject)));
  }
  if (waiting.length > 0) displace(evaluated, waiting, context, baselineOf);
  return evaluated;
}

/** At capacity: slots go to the subjects with the most traffic. */
function displace(
  evaluated: Map<string, EvaluatedSubject>,
  waiting: readonly SubjectSample[],
  { sample: bucketTime, settings: { thresholdsOf }, ended }: BucketContext,
  baselineOf: (one: SubjectSample) => Baseline,
): void {
  const seconds = bucketTime.durationMs / 1000;
  const waitingBySubject = new Map(waiting.map((one) => [one.subject, one]));
  const strengths = waiting.map(({ subject, packets, bytes }): SubjectStrength => {
    const rates = { pps: packets / seconds, bps: (bytes * 8) / seconds };
    return { subject, strength: strengthOf(rates, thresholdsOf(subject)) };
  });
  const held = [...evaluated].flatMap(([subject, { state, rates, thresholds }]) =>
    mayLoseSlot(state) ? [{ subject, strength: strengthOf(rates, thresholds) }] : [],
  );
  for (const { added, removed } of planExchanges(strengths, held)) {
    const one = waitingBySubject.get(added);
    if (one === undefined) continue;
    const phase = evaluated.get(removed)?.state.phase;
    if (phase?.name === 'ongoing') ended(endNow(phase, bucketTime));
    evaluated.delete(removed);
    const state = created(one.prefix, baselineOf(one));
    evaluated.set(added, addBucket(state, one, bucketTime, thresholdsOf(added)));
  }
}

function strengthOf(rates: Pick<Rates, 'pps' | 'bps'>, { pps, bps }: Limits): number {
  return Math.max(rates.pps / pps, rates.bps / bps);
}

/** An ongoing attack keeps its slot until it has been quiet for a while; ended ones are recorded elsewhere. */
function mayLoseSlot({ phase }: SubjectState): boolean {
  return phase.name !== 'ongoing' || phase.quietMs >= RELEASE_QUIET_MS;
}

function created(prefix: string | null, baseline: Baseline): SubjectState {
  return {
    prefix,
    window: EMPTY,
    baseline,
    vectors: createVectors(),
    excessBuckets: 0,
    phase: QUIET,
  };
}

function addBucket(
  before: SubjectState,
  one: SubjectSample | null,
  bucketTime: BucketTime,
  thresholds: Thresholds,
): EvaluatedSubject {
  const bucket = bucketOf(one, bucketTime.durationMs, before.prefix === null);
  const window = push(before.window, bucket);
  const vectors = addVectors(before.vectors, one?.vectors ?? [], bucketTime);
  return { state: { ...before, window, vectors }, rates: ratesOf(window), thresholds };
}

function lowerLimits(own: Thresholds, outer: Thresholds): Limits {
  if (own.pps <= outer.pps && own.bps <= outer.bps) return own;
  return { pps: Math.min(own.pps, outer.pps), bps: Math.min(own.bps, outer.bps) };
}

function isTrackable(
  one: SubjectSample,
  { durationMs }: BucketTime,
  { pps, bps }: Limits,
): boolean {
  const seconds = durationMs / 1000;
  return one.packets >= pps * TRACK_SHARE * seconds || one.bytes * 8 >= bps * TRACK_SHARE * seconds;
}

function isWorthKeeping({ phase, baseline, window }: SubjectState, { pps, bps }: Limits): boolean {
  if (phase.name !== 'quiet') return true;
  const { faded } = window;
  const seconds = Math.max(1, faded.durationMs / 1000);
  return (
    baseline.pps > pps * DROP_SHARE ||
    baseline.bps > bps * DROP_SHARE ||
    faded.packets / seconds > pps * DROP_SHARE ||
    faded.bits / seconds > bps * DROP_SHARE
  );
}

/** A new address inherits an equal share of its prefix's baseline. */
function inheritedBy(
  { prefix }: SubjectSample,
  { prefixes, watchedMs }: DetectorState,
  sizes: PrefixSizes,
): Baseline {
  const outer = prefix === null ? undefined : prefixes.get(prefix);
  if (prefix === null || outer === undefined) return inheritedBaseline(null, 1, watchedMs);
  return inheritedBaseline(outer.baseline, sizes.of(prefix), watchedMs);
}

/** The number of active addresses per prefix, counted on first use. */
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

interface AroundAddress {
  readonly outer: SubjectState | undefined;
  readonly mayOpen: boolean;
  /** Its attack is part of the one on this prefix from now on. */
  readonly partOf: string | null;
}

function isMoving(phase: Phase): boolean {
  return phase.name === 'ongoing' && phase.moves;
}

function stepAddress(
  address: string,
  { state, rates, thresholds }: EvaluatedSubject,
  { outer, mayOpen, partOf }: AroundAddress,
  bucketTime: BucketTime,
): Stepped {
  const { phase, window } = state;
  if (phase.name === 'ongoing' && partOf !== null) {
    return { state: { ...state, phase: QUIET }, event: endNow(phase, bucketTime, partOf) };
  }
  if (phase.name === 'ongoing') {
    return stepOngoing(
      state,
      phase,
      thresholds,
      { measured: window, evaluated: window },
      bucketTime,
    );
  }
  const limits = phaseLimits(phase, thresholds) ?? limitsOf(state.baseline, thresholds);
  // An attack spread over a prefix is one attack on the prefix; its share here is not learned as usual.
  const spread = outer?.phase.name === 'ongoing';
  const own =
    !spread ||
    (!isMoving(outer.phase) && shareOf(rates, ratesOf(outer.window), thresholds) >= OWN_SHARE);
  const begins =
    own &&
    mayOpen &&
    exceedsLimits(rates, limits) &&
    hasKnownVectors(state) &&
    isStillThere(window, limits);
  if (phase.name === 'ended') return stepEnded(state, phase, begins, bucketTime);
  if (begins) return open(state, address, thresholds, window, bucketTime);
  const learns = !spread && isUsual(rates, limits);
  return { state: learns ? stepQuiet(state, rates, bucketTime) : state, event: null };
}
