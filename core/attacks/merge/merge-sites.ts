import { combine, scaleBy, scaleTo, stronger, sum, weigh } from './sample-arithmetic.ts';
import type { Sample, SubjectSample } from '../sample.ts';

/** Counted packet by packet in a kernel, or exported: sampled, late and in bursts. */
export type Counting = 'packets' | 'exports';

/** A bucket of one counter. Counters of one site see the same packets. */
export interface Slot {
  readonly site: string;
  readonly counting: Counting;
  readonly sample: Sample;
}

/** The recent traffic of a subject at a site, as weighed, with decay. */
interface Lately {
  readonly counted: number;
  readonly told: number;
  readonly toldVariance: number;
}

/** By site and subject; only for subjects with exact counts. */
export type Trust = ReadonlyMap<string, ReadonlyMap<string, Lately>>;

/** Sites with an exact counter that has not reported yet. */
export type Late = Readonly<Record<Counting, ReadonlySet<string>>>;

interface Merged {
  readonly sample: Sample;
  readonly trust: Trust;
}

const FADE_MS = 8_000;
/**
 * If exports report this multiple of the exact counts for the decay time, packets are dropped before they are counted.
 */
const BEYOND = 3;
/** Below this the exact counts are too old to be relied on. */
const FORGOTTEN = 1e-4;
/** The counters of one site. */
const MAX_SUBJECTS = 16_384;
const NOTHING: Lately = { counted: 0, told: 0, toldVariance: 0 };
const NOBODY: ReadonlyMap<string, Lately> = new Map();

/**
 * Merges counters without double counting. Within a site exact counts win over exports, and the largest export counts;
 * different sites see different packets and are added.
 */
export function mergeSites(slots: readonly Slot[], before: Trust, late: Late): Merged {
  const durationMs = Math.max(...slots.map(({ sample }) => sample.durationMs));
  const atMs = Math.max(...slots.map(({ sample }) => sample.atMs));
  const scaled = slots.map((slot) => ({ ...slot, sample: scaleTo(slot.sample, durationMs) }));
  const trust = new Map<string, ReadonlyMap<string, Lately>>();
  const samples: Sample[] = [];
  for (const [site, same] of Map.groupBy(scaled, (slot) => slot.site)) {
    const known = before.get(site) ?? NOBODY;
    const merged = mergeSite(site, same, known, late);
    samples.push({ atMs, durationMs, ...merged.subjects });
    if (merged.lately.size > 0) trust.set(site, merged.lately);
  }
  const [only] = samples;
  if (samples.length === 1 && only !== undefined) return { sample: only, trust };
  const all = (of: (sample: Sample) => readonly SubjectSample[]): SubjectSample[] => [
    ...combine(samples.map(of), sum).values(),
  ];
  const addresses = all((sample) => sample.addresses);
  const prefixes = all((sample) => sample.prefixes);
  return { sample: { atMs, durationMs, addresses, prefixes }, trust };
}

type Subjects = Pick<Sample, 'addresses' | 'prefixes'>;

function mergeSite(
  site: string,
  slots: readonly Slot[],
  before: ReadonlyMap<string, Lately>,
  late: Late,
): { readonly subjects: Subjects; readonly lately: ReadonlyMap<string, Lately> } {
  const [first] = slots;
  const kinds = new Set(slots.map(({ counting }) => counting));
  // While exports are late, exact counts are remembered, because exports may arrive all at once.
  const isMixed = kinds.size > 1 || (kinds.has('packets') && late.exports.has(site));
  const waits = !isMixed && kinds.has('exports') && late.packets.has(site) && before.size > 0;
  if (slots.length === 1 && !isMixed && !waits && first !== undefined) {
    return { subjects: first.sample, lately: NOBODY };
  }
  const strongest = (counting: Counting, of: (sample: Sample) => readonly SubjectSample[]) => {
    const own = slots.filter((slot) => slot.counting === counting);
    return combine(
      own.map(({ sample }) => of(sample)),
      stronger,
    );
  };
  const kept = Math.exp(-(first?.sample.durationMs ?? 0) / FADE_MS);
  const lately = new Map<string, Lately>();
  const choose = (of: (sample: Sample) => readonly SubjectSample[]): SubjectSample[] => {
    const counted = strongest('packets', of);
    const told = strongest('exports', of);
    if (waits) return [...told.values()].map((one) => held(one, before.get(one.subject), kept));
    if (!isMixed) return [...counted.values(), ...told.values()];
    return chosen(counted, told, before, kept, lately);
  };
  const addresses = choose((sample) => sample.addresses);
  const prefixes = choose((sample) => sample.prefixes);
  if (waits) return { subjects: { addresses, prefixes }, lately: before };
  return {
    subjects: { addresses, prefixes },
    lately: isMixed ? joined(before, lately, kept) : NOBODY,
  };
}

/** The remembered counts, bounded: the longest idle subjects are dropped first. */
function joined(
  before: ReadonlyMap<string, Lately>,
  now: ReadonlyMap<string, Lately>,
  kept: number,
): ReadonlyMap<string, Lately> {
  const all = new Map<string, Lately>();
  for (const [subject, one] of before) {
    if (!now.has(subject)) note(all, subject, fade(one, kept, undefined, undefined));
  }
  for (const [subject, one] of now) note(all, subject, one);
  for (const subject of all.keys()) {
    if (all.size <= MAX_SUBJECTS) break;
    all.delete(subject);
  }
  return all;
}

/** One entry per subject: the exact count, unless exports have reported far more for some time. */
function chosen(
  counted: ReadonlyMap<string, SubjectSample>,
  told: ReadonlyMap<string, SubjectSample>,
  before: ReadonlyMap<string, Lately>,
  kept: number,
  lately: Map<string, Lately>,
): SubjectSample[] {
  const subjects: SubjectSample[] = [];
  for (const subject of new Set([...counted.keys(), ...told.keys()])) {
    const exact = counted.get(subject);
    const exported = told.get(subject);
    const now = fade(before.get(subject) ?? NOTHING, kept, exact, exported);
    lately.set(subject, now);
    const isBeyond = now.counted < FORGOTTEN || isFarMore(now);
    if (exported !== undefined && isBeyond && (exact === undefined || isFarMore(now))) {
      subjects.push(exported);
    } else if (exact !== undefined) {
      const vectors = exact.vectors.length > 0 ? exact.vectors : (exported?.vectors ?? []);
      subjects.push({ ...exact, vectors });
    }
  }
  return subjects;
}

function isFarMore({ counted, told, toldVariance }: Lately): boolean {
  return told - 3 * Math.sqrt(toldVariance) > BEYOND * counted;
}

function fade(
  { counted, told, toldVariance }: Lately,
  kept: number,
  exact: SubjectSample | undefined,
  exported: SubjectSample | undefined,
): Lately {
  const more = exported === undefined ? 0 : weigh(exported, 0);
  const error = exported === undefined ? 0 : more - weigh(exported, 1);
  return {
    counted: counted * kept + (exact === undefined ? 0 : weigh(exact, 0)),
    told: told * kept + more,
    toldVariance: toldVariance * kept * kept + error * error,
  };
}

function note(lately: Map<string, Lately>, subject: string, one: Lately): void {
  if (one.counted >= FORGOTTEN) lately.set(subject, one);
}

/** While the exact count is late, exports count up to its usual level. */
function held(told: SubjectSample, before: Lately | undefined, kept: number): SubjectSample {
  if (before === undefined || isFarMore(before)) return told;
  const usual = before.counted * (1 - kept);
  const now = weigh(told, 0);
  return now > usual ? scaleBy(told, usual / now) : told;
}
