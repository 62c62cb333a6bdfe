import { combine, scaleTo, sum } from './sample-arithmetic.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '../sample.ts';
import { type Counting, mergeSites, type Slot, type RecentTrafficBySite } from './merge-sites.ts';

/** A counter and its samples that were not merged yet. */
export interface Counter {
  readonly site: string;
  readonly counting: Counting;
  /** In monotonic time. */
  readonly lastSeenMs: number;
  /** Oldest first, each about one bucket long. */
  readonly waiting: readonly Sample[];
  /** The number of buckets merged without this counter while it was late. */
  readonly missed: number;
}

/** All counters. */
export interface Counters {
  readonly agents: ReadonlyMap<string, Counter>;
  readonly recentTraffic: RecentTrafficBySite;
}

export const NO_COUNTERS: Counters = { agents: new Map(), recentTraffic: new Map() };

/** The most waiting buckets of one counter; of more, the newest. */
const MAX_WAITING = 8;
/** After this many waiting buckets a late counter is skipped. */
const MAX_LATE_BUCKETS = 3;
/** A counter that is silent for this time is not waited for. */
const AWAY_MS = 1_500;

/** Appends an agent's samples. */
export function accept(
  counters: Counters,
  from: Pick<Counter, 'site' | 'counting'> & { readonly name: string },
  samples: readonly Sample[],
  nowMs: number,
): Counters {
  const { name, site, counting } = from;
  const before = counters.agents.get(name);
  const fresh = samples.flatMap(inBuckets);
  // Buckets merged without this counter are over; only the newest is present.
  const late = Math.min(before?.missed ?? 0, Math.max(0, fresh.length - 1));
  const waiting = [...(before?.waiting ?? []), ...fresh.slice(late)].slice(-MAX_WAITING);
  const now = { site, counting, lastSeenMs: nowMs, waiting, missed: 0 };
  return { ...counters, agents: new Map(counters.agents).set(name, now) };
}

/** A long bucket is split evenly; of a very long one only the end counts. */
function inBuckets(sample: Sample): Sample[] {
  const parts = Math.max(1, Math.round(sample.durationMs / BUCKET_MS));
  if (parts === 1) return [sample];
  const durationMs = sample.durationMs / parts;
  const kept = Math.min(parts, MAX_WAITING);
  return Array.from({ length: kept }, (_, index) => ({
    ...scaleTo(sample, durationMs),
    atMs: sample.atMs - (kept - 1 - index) * durationMs,
  }));
}

/**
 * Merges the next bucket when every active counter has delivered it or was waited for long enough. Returns null until
 * then. A single counter is passed on as it is.
 */
export function take(
  counters: Counters,
  nowMs: number,
): { readonly counters: Counters; readonly sample: Sample } | null {
  const agents = [...counters.agents];
  const ready = agents.filter(([, { waiting }]) => waiting.length > 0);
  const isLate = ([, { waiting, lastSeenMs }]: [string, Counter]): boolean =>
    waiting.length === 0 && nowMs - lastSeenMs <= AWAY_MS;
  const late = agents.filter(isLate);
  const most = Math.max(0, ...ready.map(([, { waiting }]) => waiting.length));
  if (ready.length === 0 || (late.length > 0 && most < MAX_LATE_BUCKETS)) return null;
  const next = new Map(counters.agents);
  const slots: Slot[] = [];
  for (const [name, counter] of ready) {
    const { waiting, site, counting } = counter;
    // A counter with a faster clock accumulates buckets: two are merged into one.
    const count = ready.length > 1 && waiting.length >= MAX_LATE_BUCKETS ? 2 : 1;
    slots.push({ site, counting, sample: joinBuckets(waiting.slice(0, count)) });
    next.set(name, { ...counter, waiting: waiting.slice(count) });
  }
  const lateSites = { packets: new Set<string>(), exports: new Set<string>() };
  for (const [name, counter] of late) {
    next.set(name, { ...counter, missed: counter.missed + 1 });
    lateSites[counter.counting].add(counter.site);
  }
  const { sample, recentTraffic } = mergeSites(slots, counters.recentTraffic, lateSites);
  return { counters: { agents: next, recentTraffic }, sample };
}

/** A counter that is silent for this time is dropped. */
export function forget(counters: Counters, nowMs: number, awayMs: number): Counters {
  const active = [...counters.agents].filter(([, { lastSeenMs }]) => nowMs - lastSeenMs <= awayMs);
  return { ...counters, agents: new Map(active) };
}

/** Joins two consecutive buckets into one with the length of the longer. */
function joinBuckets(samples: readonly Sample[]): Sample {
  const [first, second] = samples;
  if (first === undefined) throw new Error('a counter that is ready has a bucket');
  if (second === undefined) return first;
  const both = (a: readonly SubjectSample[], b: readonly SubjectSample[]): SubjectSample[] => [
    ...combine([a, b], sum).values(),
  ];
  const whole: Sample = {
    atMs: second.atMs,
    durationMs: first.durationMs + second.durationMs,
    addresses: both(first.addresses, second.addresses),
    prefixes: both(first.prefixes, second.prefixes),
  };
  return scaleTo(whole, Math.max(first.durationMs, second.durationMs));
}
