import type { AttackEvent, Thresholds } from '../attack.ts';
import { type Baseline, calm, inherited, limitsOf } from './baseline.ts';
import { type Claim, exchangesOf } from './slot-exchange.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '../sample.ts';
import { isNameable, isUsual, phaseLimits } from './phase-limits.ts';
import { stepPrefix } from './prefix.ts';
import { type Judged, shareOf } from './prefix-spread.ts';
import {
  createVectors,
  endNow,
  type Moment,
  noteVectors,
  open,
  QUIET,
  stepEnded,
  type Stepped,
  stepOngoing,
  stepQuiet,
  type SubjectState,
  tooMuch,
} from './subject.ts';
import { bucketOf, EMPTY, push, type Rates, ratesOf } from './window.ts';

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
const WARM = 0.125;
/** A subject is dropped when its usual and its present traffic are below this share. */
const COLD = 0.0625;
/** During an attack on a prefix, an address gets its own record above this share of the traffic. */
const OWN_SHARE = 0.5;
/** An attack that is quiet for this time may lose its slot to an ongoing one. */
const YIELDS_MS = 5_000;

/** The traffic in a bucket above which the detector needs a subject's vectors. */
export function detailOf({ pps, bps }: Limits): {
  readonly packets: number;
  readonly bytes: number;
} {
  const seconds = BUCKET_MS / 1000;
  return { packets: pps * COLD * seconds, bytes: (bps / 8) * COLD * seconds };
}

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

/** A bucket, and the receiver of attacks that lost their slot, which ends them. */
interface Noted {
  readonly sample: Sample;
  readonly settings: DetectorSettings;
  readonly ended: (event: AttackEvent) => void;
  /** The limits whose share decides about tracking: an address also counts for its prefix. */
  readonly floorOf: (prefix: string | null, own: Thresholds) => Limits;
}

/** Processes one bucket. A pure function: the old state is unchanged. */
export function step(
  state: DetectorState,
  sample: Sample,
  settings: DetectorSettings,
): { readonly state: DetectorState; readonly events: readonly AttackEvent[] } {
  const events: AttackEvent[] = [];
  const sizes = new PrefixSizes(sample);
  const ended = (event: AttackEvent): void => void events.push(event);
  const noted = { sample, settings, ended, floorOf: (_: string | null, own: Thresholds) => own };
  const around = note(state.prefixes, sample.prefixes, noted, () => calm(state.watchedMs));
  const floorOf = (prefix: string | null, own: Thresholds): Limits =>
    prefix === null ? own : lesser(own, around.get(prefix)?.thresholds ?? own);
  const members = note(state.addresses, sample.addresses, { ...noted, floorOf }, (one) =>
    inheritedBy(one, state, sizes),
  );
  const byPrefix = Map.groupBy(members, ([, { state: member }]) => member.prefix);
  const prefixes = new Map<string, SubjectState>();
  const take = (
    into: Map<string, SubjectState>,
    subject: string,
    { thresholds }: Judged,
    stepped: Stepped,
  ): void => {
    if (stepped.event !== null) events.push(stepped.event);
    if (isWorthKeeping(stepped.state, floorOf(stepped.state.prefix, thresholds))) {
      into.set(subject, stepped.state);
    }
  };
  const waiting = new Set<Judged>();
  for (const [prefix, judged] of around) {
    const inside = byPrefix.get(prefix)?.map(([, member]) => member) ?? [];
    const stepped = stepPrefix(prefix, judged, inside, sample);
    take(prefixes, prefix, judged, stepped);
    for (const member of stepped.waiting) waiting.add(member);
  }
  const addresses = new Map<string, SubjectState>();
  for (const [address, judged] of members) {
    const prefix = judged.state.prefix;
    const outer = prefix === null ? undefined : prefixes.get(prefix);
    const mayBegin = !waiting.has(judged);
    take(addresses, address, judged, stepAddress(address, judged, { outer, mayBegin }, sample));
  }
  const watchedMs = state.watchedMs + sample.durationMs;
  return { state: { watchedMs, addresses, prefixes }, events };
}

/** Adds the bucket to the window of every tracked or busy subject. */
function note(
  known: ReadonlyMap<string, SubjectState>,
  samples: readonly SubjectSample[],
  noted: Noted,
  baselineOf: (one: SubjectSample) => Baseline,
): Map<string, Judged> {
  const { sample: moment, settings, floorOf } = noted;
  const { thresholdsOf, maxSubjects } = settings;
  const judged = new Map<string, Judged>();
  const waiting: SubjectSample[] = [];
  let room = maxSubjects - known.size;
  for (const one of samples) {
    const thresholds = thresholdsOf(one.subject);
    const before = known.get(one.subject);
    if (before === undefined) {
      if (!isWarm(one, moment, floorOf(one.prefix, thresholds))) continue;
      if (room <= 0) {
        waiting.push(one);
        continue;
      }
      room--;
    }
    const state = before ?? created(one.prefix, baselineOf(one));
    judged.set(one.subject, noteBucket(state, one, moment, thresholds));
  }
  for (const [subject, state] of known) {
    if (judged.has(subject)) continue;
    judged.set(subject, noteBucket(state, null, moment, thresholdsOf(subject)));
  }
  if (waiting.length > 0) displace(judged, waiting, noted, baselineOf);
  return judged;
}

/** At capacity: slots go to the subjects with the most traffic. */
function displace(
  judged: Map<string, Judged>,
  waiting: readonly SubjectSample[],
  { sample: moment, settings: { thresholdsOf }, ended }: Noted,
  baselineOf: (one: SubjectSample) => Baseline,
): void {
  const seconds = moment.durationMs / 1000;
  const claims = new Map(waiting.map((one) => [one.subject, one]));
  const strengths = waiting.map(({ subject, packets, bytes }): Claim => {
    const rates = { pps: packets / seconds, bps: (bytes * 8) / seconds };
    return { subject, strength: strengthOf(rates, thresholdsOf(subject)) };
  });
  const held = [...judged].flatMap(([subject, { state, rates, thresholds }]) =>
    yieldsPlace(state) ? [{ subject, strength: strengthOf(rates, thresholds) }] : [],
  );
  for (const { taken, gone } of exchangesOf(strengths, held)) {
    const one = claims.get(taken);
    if (one === undefined) continue;
    const phase = judged.get(gone)?.state.phase;
    if (phase?.name === 'ongoing') ended(endNow(phase, moment));
    judged.delete(gone);
    const state = created(one.prefix, baselineOf(one));
    judged.set(taken, noteBucket(state, one, moment, thresholdsOf(taken)));
  }
}

function strengthOf(rates: Pick<Rates, 'pps' | 'bps'>, { pps, bps }: Limits): number {
  return Math.max(rates.pps / pps, rates.bps / bps);
}

/** An ongoing attack keeps its slot until it has been quiet for a while; ended ones are recorded elsewhere. */
function yieldsPlace({ phase }: SubjectState): boolean {
  return phase.name !== 'ongoing' || phase.quietMs >= YIELDS_MS;
}

function created(prefix: string | null, baseline: Baseline): SubjectState {
  return {
    prefix,
    window: EMPTY,
    baseline,
    vectors: createVectors(),
    pressed: 0,
    phase: QUIET,
  };
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

function lesser(own: Thresholds, outer: Thresholds): Limits {
  if (own.pps <= outer.pps && own.bps <= outer.bps) return own;
  return { pps: Math.min(own.pps, outer.pps), bps: Math.min(own.bps, outer.bps) };
}

function isWarm(one: SubjectSample, { durationMs }: Moment, { pps, bps }: Limits): boolean {
  const seconds = durationMs / 1000;
  return one.packets >= pps * WARM * seconds || one.bytes * 8 >= bps * WARM * seconds;
}

function isWorthKeeping({ phase, baseline, window }: SubjectState, { pps, bps }: Limits): boolean {
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

/** A new address inherits an equal share of its prefix's baseline. */
function inheritedBy(
  { prefix }: SubjectSample,
  { prefixes, watchedMs }: DetectorState,
  sizes: PrefixSizes,
): Baseline {
  const outer = prefix === null ? undefined : prefixes.get(prefix);
  if (prefix === null || outer === undefined) return inherited(null, 1, watchedMs);
  return inherited(outer.baseline, sizes.of(prefix), watchedMs);
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

function stepAddress(
  address: string,
  { state, rates, thresholds }: Judged,
  { outer, mayBegin }: { readonly outer: SubjectState | undefined; readonly mayBegin: boolean },
  moment: Moment,
): Stepped {
  const { phase, window } = state;
  if (phase.name === 'ongoing') {
    return stepOngoing(state, phase, thresholds, { measured: window, judged: window }, moment);
  }
  const limits = phaseLimits(phase) ?? limitsOf(state.baseline, thresholds);
  // An attack spread over a prefix is one attack on the prefix; its share here is not learned as usual.
  const spread = outer?.phase.name === 'ongoing';
  const own = !spread || shareOf(rates, ratesOf(outer.window), thresholds) >= OWN_SHARE;
  const begins = own && mayBegin && tooMuch(rates, limits) && isNameable(state);
  if (phase.name === 'ended') return stepEnded(state, phase, begins, moment);
  if (begins) return open(state, address, thresholds, window, moment);
  const learns = !spread && isUsual(rates, limits);
  return { state: learns ? stepQuiet(state, rates, moment) : state, event: null };
}
