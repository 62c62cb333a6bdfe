import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';

/** The most pending entries: amounts of later buckets, and ongoing flows. */
const MAX_ENTRIES = 262_144;
/** Longer flows count for this time, at their real rate. */
const MAX_MS = 60_000;

export interface Amounts {
  packets: number;
  bytes: number;
  packetVariance: number;
  byteVariance: number;
}

/** The amounts of one key for one bucket, or per bucket from one on. `flows` is the number of ongoing flows. */
interface Entry extends Amounts {
  flows: number;
}

interface Bucket {
  /** The amounts of this bucket. */
  readonly once: Map<number, Entry>;
  /** The change of the ongoing flows from this bucket on. */
  readonly changes: Map<number, Entry>;
}

/**
 * Distributes records over the open and later buckets: each record's packets evenly over its duration. A closed bucket
 * never changes. The counted entity is identified by a number (`key`).
 */
export class Timeline {
  readonly #ahead = new Map<number, Bucket>();
  readonly #running = new Map<number, Entry>();
  /** The number of the open bucket; it starts at this number times `BUCKET_MS`. */
  #open: number;
  #entries = 0;

  constructor(nowMs: number) {
    this.#open = Math.floor(nowMs / BUCKET_MS);
  }

  get beginMs(): number {
    return this.#open * BUCKET_MS;
  }

  /**
   * Counts amounts evenly over `durationMs` from `beginMs`, or from now if that is over. Returns false at capacity; then
   * nothing was counted.
   */
  add(key: number, amounts: Amounts, beginMs: number, durationMs: number): boolean {
    if (this.#entries + 4 > MAX_ENTRIES) return false;
    const begin = Math.max(beginMs, this.beginMs);
    const first = Math.floor(begin / BUCKET_MS);
    // Of a longer flow, only the covered part.
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

  /** Closes the open bucket and returns its amounts. */
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
      // Without ongoing flows, the rest is a rounding error.
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
