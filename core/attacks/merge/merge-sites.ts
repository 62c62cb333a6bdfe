import {
  combine,
  scaleBy,
  scaleTo,
  largerSample,
  sum,
  thresholdShare,
} from './sample-arithmetic.ts';
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
interface RecentTraffic {
  readonly counted: number;
  readonly reported: number;
  readonly reportedVariance: number;
}

/** Traffic by site and subject; only for subjects with exact counts. */
export type RecentTrafficBySite = ReadonlyMap<string, ReadonlyMap<string, RecentTraffic>>;

/** Sites with an exact counter that has not reported yet. */
export type LateSites = Readonly<Record<Counting, ReadonlySet<string>>>;

interface MergedSites {
  readonly sample: Sample;
  readonly recentTraffic: RecentTrafficBySite;
}

const FADE_MS = 8_000;
/**
 * If exports report this multiple of the exact counts for the decay time, packets are dropped before they are counted.
 */
const EXPORT_EXCESS_RATIO = 3;
/** Below this the exact counts are too old to be relied on. */
const LEAST_COUNTED = 1e-4;
/** The counters of one site. */
const MAX_SUBJECTS = 16_384;
const ZERO_TRAFFIC: RecentTraffic = { counted: 0, reported: 0, reportedVariance: 0 };
const NO_RECENT_TRAFFIC: ReadonlyMap<string, RecentTraffic> = new Map();

/**
 * Merges counters without double counting. Within a site exact counts win over exports, and the largest export counts;
 * different sites see different packets and are added.
 */
export function mergeSites(
  slots: readonly Slot[],
  before: RecentTrafficBySite,
  late: LateSites,
): MergedSites {
  const durationMs = Math.max(...slots.map(({ sample }) => sample.durationMs));
  const atMs = Math.max(...slots.map(({ sample }) => sample.atMs));
  const scaled = slots.map((slot) => ({ ...slot, sample: scaleTo(slot.sample, durationMs) }));
  const recentTraffic = new Map<string, ReadonlyMap<string, RecentTraffic>>();
  const samples: Sample[] = [];
  for (const [site, same] of Map.groupBy(scaled, (slot) => slot.site)) {
    const known = before.get(site) ?? NO_RECENT_TRAFFIC;
    const merged = mergeSite(site, same, known, late);
    samples.push({ atMs, durationMs, ...merged.subjects });
    if (merged.recent.size > 0) recentTraffic.set(site, merged.recent);
  }
  const [only] = samples;
  if (samples.length === 1 && only !== undefined) return { sample: only, recentTraffic };
  const all = (of: (sample: Sample) => readonly SubjectSample[]): SubjectSample[] => [
    ...combine(samples.map(of), sum).values(),
  ];
  const addresses = all((sample) => sample.addresses);
  const prefixes = all((sample) => sample.prefixes);
  return { sample: { atMs, durationMs, addresses, prefixes }, recentTraffic };
}

type Subjects = Pick<Sample, 'addresses' | 'prefixes'>;

function mergeSite(
  site: string,
  slots: readonly Slot[],
  before: ReadonlyMap<string, RecentTraffic>,
  late: LateSites,
): { readonly subjects: Subjects; readonly recent: ReadonlyMap<string, RecentTraffic> } {
  const [first] = slots;
  const kinds = new Set(slots.map(({ counting }) => counting));
  // While exports are late, exact counts are remembered, because exports may arrive all at once.
  const isMixed = kinds.size > 1 || (kinds.has('packets') && late.exports.has(site));
  const waits = !isMixed && kinds.has('exports') && late.packets.has(site) && before.size > 0;
  if (slots.length === 1 && !isMixed && !waits && first !== undefined) {
    return { subjects: first.sample, recent: NO_RECENT_TRAFFIC };
  }
  const strongest = (counting: Counting, of: (sample: Sample) => readonly SubjectSample[]) => {
    const own = slots.filter((slot) => slot.counting === counting);
    return combine(
      own.map(({ sample }) => of(sample)),
      largerSample,
    );
  };
  const kept = Math.exp(-(first?.sample.durationMs ?? 0) / FADE_MS);
  const recent = new Map<string, RecentTraffic>();
  const choose = (of: (sample: Sample) => readonly SubjectSample[]): SubjectSample[] => {
    const counted = strongest('packets', of);
    const reported = strongest('exports', of);
    if (waits)
      return [...reported.values()].map((one) => limitToUsual(one, before.get(one.subject), kept));
    if (!isMixed) return [...counted.values(), ...reported.values()];
    return chooseEntries(counted, reported, before, kept, recent);
  };
  const addresses = choose((sample) => sample.addresses);
  const prefixes = choose((sample) => sample.prefixes);
  if (waits) return { subjects: { addresses, prefixes }, recent: before };
  return {
    subjects: { addresses, prefixes },
    recent: isMixed ? mergeRecent(before, recent, kept) : NO_RECENT_TRAFFIC,
  };
}

/** The remembered counts, bounded: the longest idle subjects are dropped first. */
function mergeRecent(
  before: ReadonlyMap<string, RecentTraffic>,
  now: ReadonlyMap<string, RecentTraffic>,
  kept: number,
): ReadonlyMap<string, RecentTraffic> {
  const all = new Map<string, RecentTraffic>();
  for (const [subject, one] of before) {
    if (!now.has(subject)) remember(all, subject, fade(one, kept, undefined, undefined));
  }
  for (const [subject, one] of now) remember(all, subject, one);
  for (const subject of all.keys()) {
    if (all.size <= MAX_SUBJECTS) break;
    all.delete(subject);
  }
  return all;
}

/** One entry per subject: the exact count, unless exports have reported far more for some time. */
function chooseEntries(
  counted: ReadonlyMap<string, SubjectSample>,
  reported: ReadonlyMap<string, SubjectSample>,
  before: ReadonlyMap<string, RecentTraffic>,
  kept: number,
  recent: Map<string, RecentTraffic>,
): SubjectSample[] {
  const subjects: SubjectSample[] = [];
  for (const subject of new Set([...counted.keys(), ...reported.keys()])) {
    const exact = counted.get(subject);
    const exported = reported.get(subject);
    const now = fade(before.get(subject) ?? ZERO_TRAFFIC, kept, exact, exported);
    recent.set(subject, now);
    const prefersExports = now.counted < LEAST_COUNTED || isFarMore(now);
    if (exported !== undefined && prefersExports && (exact === undefined || isFarMore(now))) {
      subjects.push(exported);
    } else if (exact !== undefined) {
      const vectors = exact.vectors.length > 0 ? exact.vectors : (exported?.vectors ?? []);
      subjects.push({ ...exact, vectors });
    }
  }
  return subjects;
}

function isFarMore({ counted, reported, reportedVariance }: RecentTraffic): boolean {
  return reported - 3 * Math.sqrt(reportedVariance) > EXPORT_EXCESS_RATIO * counted;
}

function fade(
  { counted, reported, reportedVariance }: RecentTraffic,
  kept: number,
  exact: SubjectSample | undefined,
  exported: SubjectSample | undefined,
): RecentTraffic {
  const more = exported === undefined ? 0 : thresholdShare(exported, 0);
  const error = exported === undefined ? 0 : more - thresholdShare(exported, 1);
  return {
    counted: counted * kept + (exact === undefined ? 0 : thresholdShare(exact, 0)),
    reported: reported * kept + more,
    reportedVariance: reportedVariance * kept * kept + error * error,
  };
}

function remember(recent: Map<string, RecentTraffic>, subject: string, one: RecentTraffic): void {
  if (one.counted >= LEAST_COUNTED) recent.set(subject, one);
}

/** While the exact count is late, exports count up to its usual level. */
function limitToUsual(
  reported: SubjectSample,
  before: RecentTraffic | undefined,
  kept: number,
): SubjectSample {
  if (before === undefined || isFarMore(before)) return reported;
  const usual = before.counted * (1 - kept);
  const now = thresholdShare(reported, 0);
  return now > usual ? scaleBy(reported, usual / now) : reported;
}
