import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';

/** What is kept of the time to come: amounts of buckets, and flows that are under way. */
const MAX_ENTRIES = 262_144;
/** Longer flows count for this long; their rate stays what it was. */
const MAX_MS = 60_000;

export interface Amounts {
  packets: number;
  bytes: number;
  packetVariance: number;
  byteVariance: number;
}

/** Of one key: what counts in one bucket only, or in each from one on. `flows`: how many are under way. */
interface Entry extends Amounts {
  flows: number;
}

interface Bucket {
  /** What counts in this bucket. */
  readonly once: Map<number, Entry>;
  /** By what the flows under way change from this bucket on. */
  readonly changes: Map<number, Entry>;
}

/**
 * What records tell of, in the buckets in which it counts, now and later: each record's packets evenly over as long
 * as it took. What a bucket holds never changes after it was closed. Who counts is known by a number (`key`).
 */
export class Timeline {
  readonly #ahead = new Map<number, Bucket>();
  readonly #running = new Map<number, Entry>();
  /** Number of the bucket that is open; it begins at its number times `BUCKET_MS`. */
  #open: number;
  #entries = 0;

  constructor(nowMs: number) {
    this.#open = Math.floor(nowMs / BUCKET_MS);
  }

  get beginMs(): number {
    return this.#open * BUCKET_MS;
  }

  /**
   * Counts amounts evenly over `durationMs` from `beginMs` on, or from now on where that is over. False: there is no
   * room, and nothing was counted.
   */
  add(key: number, amounts: Amounts, beginMs: number, durationMs: number): boolean {
    if (this.#entries + 4 > MAX_ENTRIES) return false;
    const begin = Math.max(beginMs, this.beginMs);
    const first = Math.floor(begin / BUCKET_MS);
    // Of a flow longer than is told, the part that is.
    const wholeMs = Math.max(durationMs, 1);
    const end = begin + Math.min(durationMs, MAX_MS);
    const last = Math.floor(end / BUCKET_MS);
    if (first === last) {
      this.#put(this.#at(first).once, key, amounts, 1, 0);
      return true;
    }
    this.#put(this.#at(first).once, key, amounts, ((first + 1) * BUCKET_MS - begin) / wholeMs, 0);
    this.#put(this.#at(last).once, key, amounts, (end - last * BUCKET_MS) / wholeMs, 0);
    if (last - first > 1) {
      const each = BUCKET_MS / wholeMs;
      this.#put(this.#at(first + 1).changes, key, amounts, each, 1);
      this.#put(this.#at(last).changes, key, amounts, -each, -1);
    }
    return true;
  }

  /** Ends the open bucket: what counted in it. */
  close(take: (key: number, amounts: Amounts) => void): void {
    const bucket = this.#ahead.get(this.#open);
    this.#ahead.delete(this.#open);
    this.#open++;
    if (bucket !== undefined) {
      this.#entries -= bucket.once.size + bucket.changes.size;
      this.#change(bucket.changes);
    }
    for (const [key, amounts] of this.#running) take(key, amounts);
    if (bucket !== undefined) for (const [key, amounts] of bucket.once) take(key, amounts);
  }

  #change(changes: ReadonlyMap<number, Entry>): void {
    for (const [key, change] of changes) {
      const before = this.#running.get(key);
      if (before === undefined) {
        this.#running.set(key, change);
        this.#entries++;
        continue;
      }
      addTo(before, change, 1, change.flows);
      if (before.flows > 0) continue;
      // Nothing is under way: what is left is an error of rounding.
      this.#running.delete(key);
      this.#entries--;
    }
  }

  #at(number: number): Bucket {
    let bucket = this.#ahead.get(number);
    if (bucket === undefined) {
      bucket = { once: new Map(), changes: new Map() };
      this.#ahead.set(number, bucket);
    }
    return bucket;
  }

  #put(into: Map<number, Entry>, key: number, amounts: Amounts, part: number, flows: number): void {
    let entry = into.get(key);
    if (entry === undefined) {
      entry = { packets: 0, bytes: 0, packetVariance: 0, byteVariance: 0, flows: 0 };
      into.set(key, entry);
      this.#entries++;
    }
    addTo(entry, amounts, part, flows);
  }
}

function addTo(entry: Entry, amounts: Amounts, part: number, flows: number): void {
  entry.packets += amounts.packets * part;
  entry.bytes += amounts.bytes * part;
  entry.packetVariance += amounts.packetVariance * part;
  entry.byteVariance += amounts.byteVariance * part;
  entry.flows += flows;
}
