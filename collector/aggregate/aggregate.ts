import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_COUNT, VECTOR_INDEX, vectorOf } from '@portcullis/core/attacks/vectors.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import { Evidence } from './evidence.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { Leaders } from './leaders.ts';
import {
  formatHost,
  formatPrefix,
  headOf,
  hostHead,
  isHost,
  maskInto,
  wordsOf,
} from './subject-head.ts';
import { SubjectTable } from './subject-table.ts';
import { type Amounts, Timeline } from './timeline.ts';

export interface AggregateOptions {
  /** The protected networks, addresses with full length. Null: every destination, in prefixes of the usual lengths. */
  readonly prefixes: readonly Cidr[] | null;
  /** The most addresses counted at a time. */
  readonly addresses: number;
  /** A secret, so that a sender cannot choose addresses that collide. */
  readonly seed: number;
  /** Packets and bytes in a bucket above which a subject's vectors are reported. */
  readonly detail: { readonly packets: number; readonly bytes: number };
  /** The start of the first bucket, by the clock of `add`. */
  readonly nowMs: number;
}

/** The prefix lengths without configured prefixes: the smallest announced prefix of each family. */
const USUAL_LENGTHS = { 4: 24, 6: 48 } as const;
const MIN_PREFIXES = 16_384;
const MAX_PREFIXES = 131_072;
/** The sketch covers recent traffic only. */
const SKETCH_BUCKETS = 4;
/** An observer that is silent for this many buckets does not count as a second one. */
const OBSERVED_BUCKETS = 240;
/** A kind beside the vectors: data packets that a subject sent. */
const ANSWERS = VECTOR_COUNT;
/** The range of vectors in keys of the timeline. */
const KINDS = 64;
/** The range of tenures in keys: the rest is for slots and kinds. */
const TENURES = 2 ** 20;

const { tcp_data } = VECTOR_INDEX;

/**
 * Aggregates records by observer, destination and vector in buckets, each packet at its own time. Of several observers
 * of one destination, one counts. Bounded for any number of destinations.
 */
export class Aggregate {
  readonly counters = {
    /** Records to unprotected destinations. */
    outside: 0,
    /** Records whose destination found no slot, so that only its prefix counts them. */
    crowdedOut: 0,
    /** Records beyond the timeline's capacity, which were counted immediately. */
    unspread: 0,
  };
  readonly #addresses: SubjectTable;
  /** The counts of each observer by prefix. */
  readonly #prefixes: SubjectTable;
  /** Finds the longest protected prefix of an address. Null if every destination is protected. */
  readonly #protected: SubjectTable | null;
  readonly #lengths: Readonly<Record<4 | 6, readonly number[]>>;
  readonly #sketch = new Sketch();
  readonly #timeline: Timeline;
  /** Playouts by observer number. */
  readonly #playouts = new Map<number, Playout>();
  readonly #lastSeen = new Map<number, number>();
  readonly #addressLeaders: Leaders;
  readonly #prefixLeaders: Leaders;
  readonly #detailed: (packets: number, bytes: number) => boolean;
  readonly #masked = new Uint32Array(4);
  /** The prefix slot of each address slot. */
  readonly #prefixOf: Int32Array;
  readonly #evidence = new Evidence();
  /** The subjects that counted in the last closed bucket. */
  #counted: {
    readonly addresses: readonly CountedSlot[];
    readonly prefixes: readonly CountedSlot[];
  } = { addresses: [], prefixes: [] };
  /** The same by subject, built on first use. */
  #keys: ReadonlyMap<string, number> | null = null;
  readonly #amounts: Amounts = { packets: 0, bytes: 0, packetVariance: 0, byteVariance: 0 };
  #buckets = 0;

  constructor({ prefixes, addresses, seed, detail, nowMs }: AggregateOptions) {
    this.#addresses = new SubjectTable(addresses, seed);
    this.#prefixOf = new Int32Array(addresses).fill(-1);
    const capacity = Math.min(MAX_PREFIXES, Math.max(MIN_PREFIXES, 2 * (prefixes?.length ?? 0)));
    this.#prefixes = new SubjectTable(capacity, seed ^ 0x5bd1e995);
    this.#protected =
      prefixes === null ? null : new SubjectTable(prefixes.length, seed ^ 0x1b873593, true);
    this.#timeline = new Timeline(nowMs);
    this.#addressLeaders = new Leaders(addresses, (slot) => this.#addresses.leadOf(slot));
    this.#prefixLeaders = new Leaders(capacity, (slot) => this.#prefixes.leadOf(slot));
    const lengths = (family: 4 | 6): number[] => {
      const own = prefixes?.filter((one) => one.family === family) ?? null;
      const all = own === null ? [USUAL_LENGTHS[family]] : own.map(({ length }) => length);
      return [...new Set(all)].toSorted((a, b) => b - a);
    };
    this.#lengths = { 4: lengths(4), 6: lengths(6) };
    for (const prefix of prefixes ?? []) this.#protect(prefix);
    this.#detailed = (packets, bytes) => packets >= detail.packets || bytes >= detail.bytes;
  }

  add(record: FlowRecord, nowMs: number): void {
    const prefix = this.#findPrefix(record);
    if (prefix === OUTSIDE) {
      this.counters.outside++;
      return;
    }
    const { packets, bytes, samplingRate, observer } = record;
    this.#lastSeen.set(observer, this.#buckets);
    const meanBytes = bytes / packets;
    const vector = vectorOf(
      record.protocol,
      record.sourcePort,
      record.tcpFlags,
      record.part,
      meanBytes,
    );
    const address = this.#findAddress(record, prefix);
    const { agoMs, durationMs } = record;
    const ageMs = agoMs + durationMs;
    const beginMs = nowMs - ageMs + this.#playoutOf(observer).waitOf(ageMs, nowMs);
    const amounts = this.#amounts;
    amounts.packets = packets;
    amounts.bytes = bytes;
    amounts.packetVariance = packets * (samplingRate - 1);
    amounts.byteVariance = amounts.packetVariance * meanBytes * meanBytes;
    if (address >= 0) this.#plan(addressKey(address, this.#addresses), vector, beginMs, durationMs);
    if (prefix >= 0) this.#plan(prefixKey(prefix, this.#prefixes), vector, beginMs, durationMs);
    if (vector === tcp_data) this.#answer(record, beginMs);
    if (!this.#evidence.isWanted) return;
    if (address >= 0) this.#evidence.note(addressKey(address, this.#addresses), record);
    if (prefix >= 0) this.#evidence.note(prefixKey(prefix, this.#prefixes), record);
  }

  /**
   * The top sources of a subject of the last closed bucket. Only requested subjects are observed, for some seconds after
   * each request.
   */
  tops(subject: string): SubjectTops | null {
    this.#keys ??= new Map([
      ...this.#counted.addresses.map(
        ([slot, name]) => [name, addressKey(slot, this.#addresses)] as const,
      ),
      ...this.#counted.prefixes.map(
        ([slot, name]) => [name, prefixKey(slot, this.#prefixes)] as const,
      ),
    ]);
    const key = this.#keys.get(subject);
    return key === undefined ? null : this.#evidence.of(key, subject);
  }

  /** Closes the bucket; after a delay it covers several buckets' time. */
  close(atMs: number, durationMs: number): Sample {
    const buckets = Math.max(1, Math.round(durationMs / BUCKET_MS));
    for (let bucket = 0; bucket < buckets; bucket++) {
      this.#timeline.close((key, amounts) => this.#count(key, amounts));
    }
    const addresses: SubjectSample[] = [];
    const prefixes: SubjectSample[] = [];
    const counted = {
      addresses: this.#counting(this.#addresses, this.#addressLeaders, formatHost),
      prefixes: this.#counting(this.#prefixes, this.#prefixLeaders, formatPrefix),
    };
    this.#counted = counted;
    this.#keys = null;
    this.#evidence.step();
    for (const [slot, name] of counted.addresses) {
      const outer = this.#containingPrefix(slot);
      // An address with its own scope belongs to no prefix.
      const prefix = outer === null || isHost(outer) ? null : outer;
      addresses.push(this.#addresses.sampleOf(slot, name, prefix, this.#detailed));
    }
    for (const [slot, name] of counted.prefixes) {
      if (!isHost(name)) prefixes.push(this.#prefixes.sampleOf(slot, name, null, this.#detailed));
    }
    this.#addresses.drain();
    this.#prefixes.drain();
    if (++this.#buckets % SKETCH_BUCKETS === 0) this.#sketch.clear();
    for (const [observer, bucket] of this.#lastSeen) {
      if (this.#buckets - bucket <= OBSERVED_BUCKETS) continue;
      this.#lastSeen.delete(observer);
      this.#playouts.delete(observer);
    }
    return { atMs, durationMs, addresses, prefixes };
  }

  /** The slots of a table that count in this bucket, one per subject. */
  #counting(
    table: SubjectTable,
    leaders: Leaders,
    format: (head: number, words: Uint32Array) => string,
  ): CountedSlot[] {
    const active = table.active().map((slot): CountedSlot => [slot, table.subjectOf(slot, format)]);
    if (this.#lastSeen.size <= 1) {
      leaders.clear();
      return active;
    }
    const same = Map.groupBy(active, ([, subject]) => subject);
    return [...same].flatMap(([subject, slots]): CountedSlot[] => {
      const slot = leaders.choose(
        subject,
        slots.map(([one]) => one),
      );
      return slot === null ? [] : [[slot, subject]];
    });
  }

  #plan(key: number, kind: number, beginMs: number, durationMs: number): void {
    const place = key * KINDS + kind;
    if (this.#timeline.add(place, this.#amounts, beginMs, durationMs)) return;
    this.counters.unspread++;
    this.#count(place, this.#amounts);
  }

  #count(place: number, { packets, bytes, packetVariance, byteVariance }: Amounts): void {
    const kind = place % KINDS;
    const key = Math.floor(place / KINDS);
    const slot = Math.floor((key % SLOTS) / 2);
    const table = key % 2 === 0 ? this.#addresses : this.#prefixes;
    // The slot belongs to another subject by now.
    if (table.tenureOf(slot) % TENURES !== Math.floor(key / SLOTS)) return;
    if (kind === ANSWERS) table.addAnswered(slot, packets);
    else table.add(slot, kind, packets, bytes, packetVariance, byteVariance);
  }

  #playoutOf(observer: number): Playout {
    let playout = this.#playouts.get(observer);
    if (playout === undefined) {
      playout = new Playout();
      this.#playouts.set(observer, playout);
    }
    return playout;
  }

  /**
   * The observer's slot for the longest prefix of a destination. `OUTSIDE` if it is in none, `AT_CAPACITY` if all slots are
   * taken.
   */
  #findPrefix({ family, destination, packets, observer }: FlowRecord): number {
    const known = this.#protected;
    for (const length of this.#lengths[family]) {
      maskInto(this.#masked, destination, family === 4 ? length + 96 : length);
      const head = headOf(family, length);
      if (known !== null && known.find(head, this.#masked, known.hash(head, this.#masked)) < 0) {
        continue;
      }
      return slotOf(this.#prefixes, headOf(family, length, observer), this.#masked, packets);
    }
    return OUTSIDE;
  }

  #findAddress({ family, destination, packets, observer }: FlowRecord, prefix: number): number {
    const table = this.#addresses;
    const head = hostHead(family, observer);
    const hash = table.hash(head, destination);
    let slot = table.find(head, destination, hash);
    if (slot < 0) {
      const weight = table.isFull ? this.#sketch.add(hash, packets) : packets;
      slot = table.insert(head, destination, hash, weight);
      if (slot < 0) this.counters.crowdedOut++;
    }
    if (slot >= 0) {
      this.#prefixOf[slot] = prefix;
      table.expect(slot, packets);
    }
    return slot;
  }

  /** A subject that sends much receives many acknowledgements. */
  #answer({ family, source, observer, durationMs }: FlowRecord, beginMs: number): void {
    const table = this.#addresses;
    const head = hostHead(family, observer);
    const slot = table.find(head, source, table.hash(head, source));
    if (slot >= 0) this.#plan(addressKey(slot, table), ANSWERS, beginMs, durationMs);
  }

  #containingPrefix(address: number): string | null {
    const slot = this.#prefixOf[address] as number;
    return slot < 0 ? null : this.#prefixes.subjectOf(slot, formatPrefix);
  }

  #protect(prefix: Cidr): void {
    const words = wordsOf(prefix);
    const table = this.#protected as SubjectTable;
    const head = headOf(prefix.family, prefix.length);
    const hash = table.hash(head, words);
    if (table.find(head, words, hash) < 0) {
      table.insert(head, words, hash, Number.POSITIVE_INFINITY);
    }
  }
}

type CountedSlot = readonly [slot: number, subject: string];

/** Values that are no slot. */
const AT_CAPACITY = -1;
const OUTSIDE = -2;
/** Slots of both tables are below half of this. */
const SLOTS = 2 ** 20;

function addressKey(slot: number, table: SubjectTable): number {
  return (table.tenureOf(slot) % TENURES) * SLOTS + slot * 2;
}

function prefixKey(slot: number, table: SubjectTable): number {
  return (table.tenureOf(slot) % TENURES) * SLOTS + slot * 2 + 1;
}

function slotOf(table: SubjectTable, head: number, words: Uint32Array, packets: number): number {
  const hash = table.hash(head, words);
  const known = table.find(head, words, hash);
  const slot = known >= 0 ? known : table.insert(head, words, hash, packets);
  if (slot < 0) return AT_CAPACITY;
  table.expect(slot, packets);
  return slot;
}

const ROWS = 2;
const COLUMNS = 65_536;

/**
 * A count-min sketch: an estimate per key that is never too low. It decides whether a destination deserves a slot when
 * forged destinations have taken them all.
 */
class Sketch {
  readonly #counts = new Float32Array(ROWS * COLUMNS);

  /** Adds and returns the new estimate of the key. */
  add(hash: number, amount: number): number {
    const first = hash & (COLUMNS - 1);
    const second = COLUMNS + ((Math.imul(hash, 0x9e3779b1) >>> 16) & (COLUMNS - 1));
    const counts = this.#counts;
    counts[first] = (counts[first] as number) + amount;
    counts[second] = (counts[second] as number) + amount;
    return Math.min(counts[first], counts[second]);
  }

  clear(): void {
    this.#counts.fill(0);
  }
}

/** Records of a busy exporter with short timeouts are not older than this. */
const USUAL_MS = 6_000;
/** After silence delayed records arrive at once, older by this at most. */
const MAX_SILENCE_MS = 16_000;
/** The delay shrinks by this share of the time, which bounds the error of rates. */
const SHRINKING = 0.01;

/**
 * The playout delay of an exporter. Records describe packets of different ages. Counted on arrival, an export by timer
 * or after a stall would look like a burst. So younger records wait until they are as old as the oldest recent ones,
 * and the traffic keeps its shape.
 *
 * The delay is bounded: an exporter with long timeouts must not delay all others.
 */
class Playout {
  #waitMs = 0;
  #maxAgeMs = USUAL_MS;
  #noteMs: number | null = null;

  /** `ageMs`: the age of the record's first packet. */
  waitOf(ageMs: number, nowMs: number): number {
    const elapsedMs = this.#noteMs === null ? 0 : Math.max(0, nowMs - this.#noteMs);
    this.#noteMs = nowMs;
    this.#maxAgeMs = Math.max(
      this.#maxAgeMs - elapsedMs,
      USUAL_MS + Math.min(MAX_SILENCE_MS, elapsedMs),
    );
    this.#waitMs = Math.max(0, this.#waitMs - elapsedMs * SHRINKING);
    if (ageMs <= this.#maxAgeMs) this.#waitMs = Math.max(this.#waitMs, ageMs);
    return this.#waitMs;
  }
}
