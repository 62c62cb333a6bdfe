import { combine, scaleTo, sum } from './amounts.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from './sample.ts';
import { type Counting, mergeSites, type Slot, type Trust } from './sites.ts';

/** Who counts, and what of it was not taken yet. */
export interface Counter {
  readonly site: string;
  readonly counting: Counting;
  /** By a clock that does not jump. */
  readonly heardMs: number;
  /** Oldest first, each about a bucket long. */
  readonly waiting: readonly Sample[];
  /** Buckets that were taken without this one, while it was late. */
  readonly missed: number;
}

/** Everybody who counts. */
export interface Counters {
  readonly agents: ReadonlyMap<string, Counter>;
  readonly trust: Trust;
}

export const NO_COUNTERS: Counters = { agents: new Map(), trust: new Map() };

/** Buckets of one counter that are kept; of more, the latest. */
const MAX_WAITING = 8;
/** So many of one wait for another's, then it is done without: two more than what is the same moment's. */
const PATIENCE = 3;
/** Who was not heard for this long is not waited for. */
const AWAY_MS = 1_500;

/** What an agent told, behind what it told before. */
export function accept(
  counters: Counters,
  from: Pick<Counter, 'site' | 'counting'> & { readonly name: string },
  samples: readonly Sample[],
  nowMs: number,
): Counters {
  const { name, site, counting } = from;
  const before = counters.agents.get(name);
  const fresh = samples.flatMap(inBuckets);
  // Those that were done without are over; the latest is of now.
  const late = Math.min(before?.missed ?? 0, Math.max(0, fresh.length - 1));
  const waiting = [...(before?.waiting ?? []), ...fresh.slice(late)].slice(-MAX_WAITING);
  const now = { site, counting, heardMs: nowMs, waiting, missed: 0 };
  return { ...counters, agents: new Map(counters.agents).set(name, now) };
}

/** A bucket that was read late is of several times, evenly; of a very long one the end counts. */
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
 * The next bucket of everybody, when everybody who is there has told his, or has been waited for long enough. Null: not
 * yet. One who counts alone is never waited for, and is passed on as he counted.
 */
export function take(
  counters: Counters,
  nowMs: number,
): { readonly counters: Counters; readonly sample: Sample } | null {
  const agents = [...counters.agents];
  const ready = agents.filter(([, { waiting }]) => waiting.length > 0);
  const isLate = ([, { waiting, heardMs }]: [string, Counter]): boolean =>
    waiting.length === 0 && nowMs - heardMs <= AWAY_MS;
  const late = agents.filter(isLate);
  const most = Math.max(0, ...ready.map(([, { waiting }]) => waiting.length));
  if (ready.length === 0 || (late.length > 0 && most < PATIENCE)) return null;
  const next = new Map(counters.agents);
  const slots: Slot[] = [];
  for (const [name, counter] of ready) {
    const { waiting, site, counting } = counter;
    // Whose clock runs faster has more and more: two are taken for one.
    const count = ready.length > 1 && waiting.length >= PATIENCE ? 2 : 1;
    slots.push({ site, counting, sample: joined(waiting.slice(0, count)) });
    next.set(name, { ...counter, waiting: waiting.slice(count) });
  }
  const awaited = { packets: new Set<string>(), exports: new Set<string>() };
  for (const [name, counter] of late) {
    next.set(name, { ...counter, missed: counter.missed + 1 });
    awaited[counter.counting].add(counter.site);
  }
  const { sample, trust } = mergeSites(slots, counters.trust, awaited);
  return { counters: { agents: next, trust }, sample };
}

/** Who was not heard for so long is forgotten. */
export function forget(counters: Counters, nowMs: number, awayMs: number): Counters {
  const there = [...counters.agents].filter(([, { heardMs }]) => nowMs - heardMs <= awayMs);
  return { ...counters, agents: new Map(there) };
}

/** Two buckets, one after the other, as one of the length of the longer. */
function joined(samples: readonly Sample[]): Sample {
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
