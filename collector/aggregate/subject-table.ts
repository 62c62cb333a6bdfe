import {
  BUCKET_MS,
  type SubjectSample,
  type VectorCount,
} from '@portcullis/core/attacks/sample.ts';
import { VECTOR_COUNT, VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import type { Lead } from './leaders.ts';

const NONE = -1;
/** Offsets of a slot's totals in `#totals`. */
const PACKETS = 0;
const BYTES = 1;
const PACKET_VARIANCE = 2;
const BYTE_VARIANCE = 3;
const ANSWERED = 4;
const TOTALS = 5;
const DATA = VECTOR_INDEX.tcp_data;
const ACK = VECTOR_INDEX.tcp_ack;
/** The slots compared to find one to evict when all are taken. */
const CANDIDATES = 8;
/** A slot is free after this many buckets without traffic: longer than any playout delay. */
const IDLE_BUCKETS = 100;
/** Recent traffic fades by this factor per bucket: a time constant of 8 s. */
const KEPT = Math.exp(-BUCKET_MS / 8_000);
const FREE = 255;

/**
 * Counters of up to `capacity` subjects, found by `head` (family and prefix length) and four words of address. The hash
 * uses a secret, so that a sender cannot choose addresses that collide.
 */
export class SubjectTable {
  readonly capacity: number;
  readonly #seed: number;
  readonly #permanent: boolean;
  readonly #heads: Int32Array;
  readonly #next: Int32Array;
  readonly #keys: Uint32Array;
  readonly #totals: Float64Array;
  readonly #vectors: Float32Array;
  /** Recently reported packets: the slot with the least is evicted first. */
  readonly #weights: Float64Array;
  /** Recently counted packets and their variance. */
  readonly #lately: Float64Array;
  readonly #latelyVariance: Float64Array;
  /** Buckets without traffic in a row; `FREE` for a free slot. */
  readonly #idle: Uint8Array;
  /** Increases when a slot gets another subject; stored with every reference to a slot. */
  readonly #tenures: Uint32Array;
  readonly #subjects: (string | null)[];
  readonly #active: Int32Array;
  readonly #isActive: Uint8Array;
  #activeCount = 0;
  #used = 0;
  #free: number[] = [];
  #cursor = 0;

  /** With `permanent`, subjects keep their slots without traffic. */
  constructor(capacity: number, seed: number, permanent = false) {
    this.capacity = capacity;
    this.#permanent = permanent;
    this.#seed = seed;
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(capacity * 2))).fill(NONE);
    this.#next = new Int32Array(capacity);
    this.#keys = new Uint32Array(capacity * 5);
    this.#totals = new Float64Array(capacity * TOTALS);
    this.#vectors = new Float32Array(capacity * VECTOR_COUNT * 2);
    this.#weights = new Float64Array(capacity);
    this.#lately = new Float64Array(capacity);
    this.#latelyVariance = new Float64Array(capacity);
    this.#idle = new Uint8Array(capacity).fill(FREE);
    this.#tenures = new Uint32Array(capacity);
    this.#subjects = Array<string | null>(capacity).fill(null);
    this.#active = new Int32Array(capacity);
    this.#isActive = new Uint8Array(capacity);
  }

  get size(): number {
    return this.#used - this.#free.length;
  }

  get isFull(): boolean {
    return this.size === this.capacity;
  }

  hash(head: number, words: Uint32Array): number {
    let hash = Math.imul(this.#seed ^ head, 0x9e3779b1);
    for (let index = 0; index < 4; index++) {
      hash = Math.imul(hash ^ (words[index] as number), 0x85ebca6b);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  /** Returns -1 if the subject has no slot. */
  find(head: number, words: Uint32Array, hash: number): number {
    const keys = this.#keys;
    let slot = this.#heads[hash & (this.#heads.length - 1)] as number;
    while (slot !== NONE) {
      const at = slot * 5;
      if (
        keys[at + 4] === words[3] &&
        keys[at + 3] === words[2] &&
        keys[at + 2] === words[1] &&
        keys[at + 1] === words[0] &&
        keys[at] === head
      ) {
        return slot;
      }
      slot = this.#next[slot] as number;
    }
    return NONE;
  }

  /** Returns a slot, if necessary that of an evicted subject with less traffic, or -1. */
  insert(head: number, words: Uint32Array, hash: number, weight: number): number {
    let slot = this.#free.pop() ?? NONE;
    if (slot === NONE && this.#used < this.capacity) slot = this.#used++;
    if (slot === NONE) {
      slot = this.#lightest();
      if ((this.#weights[slot] as number) >= weight) return NONE;
      this.#release(slot);
    }
    const at = slot * 5;
    this.#keys[at] = head;
    this.#keys.set(words, at + 1);
    const bucket = hash & (this.#heads.length - 1);
    this.#next[slot] = this.#heads[bucket] as number;
    this.#heads[bucket] = slot;
    this.#weights[slot] = 0;
    this.#lately[slot] = 0;
    this.#latelyVariance[slot] = 0;
    this.#idle[slot] = 0;
    return slot;
  }

  /** Notes reported packets, whenever they count. */
  expect(slot: number, packets: number): void {
    this.#weights[slot] = (this.#weights[slot] as number) + packets;
    this.#idle[slot] = 0;
  }

  /** The recently counted packets of a slot, the open bucket included. */
  leadOf(slot: number): Lead {
    const at = slot * TOTALS;
    return {
      slot,
      tenure: this.#tenures[slot] as number,
      packets: (this.#lately[slot] as number) + (this.#totals[at + PACKETS] as number),
      variance:
        (this.#latelyVariance[slot] as number) + (this.#totals[at + PACKET_VARIANCE] as number),
    };
  }

  add(
    slot: number,
    vector: number,
    packets: number,
    bytes: number,
    packetVariance: number,
    byteVariance: number,
  ): void {
    this.#touch(slot);
    const totals = this.#totals;
    const at = slot * TOTALS;
    totals[at + PACKETS] = (totals[at + PACKETS] as number) + packets;
    totals[at + BYTES] = (totals[at + BYTES] as number) + bytes;
    totals[at + PACKET_VARIANCE] = (totals[at + PACKET_VARIANCE] as number) + packetVariance;
    totals[at + BYTE_VARIANCE] = (totals[at + BYTE_VARIANCE] as number) + byteVariance;
    const place = (slot * VECTOR_COUNT + vector) * 2;
    this.#vectors[place] = (this.#vectors[place] as number) + packets;
    this.#vectors[place + 1] = (this.#vectors[place + 1] as number) + bytes;
  }

  /** Counts large TCP packets that the subject sent. */
  addAnswered(slot: number, packets: number): void {
    this.#touch(slot);
    const at = slot * TOTALS + ANSWERED;
    this.#totals[at] = (this.#totals[at] as number) + packets;
  }

  tenureOf(slot: number): number {
    return this.#tenures[slot] as number;
  }

  /** The subject's name, built on first use. */
  subjectOf(slot: number, format: (head: number, words: Uint32Array) => string): string {
    const known = this.#subjects[slot];
    if (known !== null && known !== undefined) return known;
    const at = slot * 5;
    const made = format(this.#keys[at] as number, this.#keys.subarray(at + 1, at + 5));
    this.#subjects[slot] = made;
    return made;
  }

  /** The slots with traffic in the open bucket. */
  active(): number[] {
    return [...this.#active.subarray(0, this.#activeCount)];
  }

  /** Closes a bucket: frees idle slots and resets the totals. */
  drain(): void {
    for (let slot = 0; slot < this.#used; slot++) this.#age(slot);
    for (let index = 0; index < this.#activeCount; index++) {
      const slot = this.#active[index] as number;
      this.#clear(slot);
      this.#isActive[slot] = 0;
    }
    this.#activeCount = 0;
  }

  /** The sample of a slot in the bucket that is closed. `detailed` says whether it includes vectors. */
  sampleOf(
    slot: number,
    subject: string,
    prefix: string | null,
    detailed: (packets: number, bytes: number) => boolean,
  ): SubjectSample {
    const at = slot * TOTALS;
    const data = (slot * VECTOR_COUNT + DATA) * 2;
    const packets = this.#totals[at + PACKETS] as number;
    const bytes = this.#totals[at + BYTES] as number;
    return {
      subject,
      prefix,
      packets,
      bytes,
      dataPackets: this.#vectors[data] as number,
      dataBytes: this.#vectors[data + 1] as number,
      // At most one acknowledgement per large packet that left.
      receiptPackets: Math.min(
        this.#vectors[(slot * VECTOR_COUNT + ACK) * 2] as number,
        this.#totals[at + ANSWERED] as number,
      ),
      packetVariance: this.#totals[at + PACKET_VARIANCE] as number,
      byteVariance: this.#totals[at + BYTE_VARIANCE] as number,
      vectors: detailed(packets, bytes) ? this.#vectorsOf(slot) : NO_VECTORS,
    };
  }

  #vectorsOf(slot: number): VectorCount[] {
    const counts: VectorCount[] = [];
    for (let vector = 0; vector < VECTOR_COUNT; vector++) {
      const at = (slot * VECTOR_COUNT + vector) * 2;
      const packets = this.#vectors[at] as number;
      if (packets > 0) counts.push({ vector, packets, bytes: this.#vectors[at + 1] as number });
    }
    return counts;
  }

  #touch(slot: number): void {
    if (this.#isActive[slot] === 1) return;
    this.#isActive[slot] = 1;
    this.#active[this.#activeCount++] = slot;
  }

  #lightest(): number {
    let best = this.#cursor;
    for (let step = 1; step < CANDIDATES; step++) {
      const slot = (this.#cursor + step) % this.capacity;
      if ((this.#weights[slot] as number) < (this.#weights[best] as number)) best = slot;
    }
    this.#cursor = (this.#cursor + CANDIDATES) % this.capacity;
    return best;
  }

  #age(slot: number): void {
    const idle = this.#idle[slot] as number;
    if (idle === FREE) return;
    const at = slot * TOTALS;
    this.#weights[slot] = (this.#weights[slot] as number) / 2;
    this.#lately[slot] =
      KEPT * ((this.#lately[slot] as number) + (this.#totals[at + PACKETS] as number));
    this.#latelyVariance[slot] =
      KEPT *
      KEPT *
      ((this.#latelyVariance[slot] as number) + (this.#totals[at + PACKET_VARIANCE] as number));
    if (this.#isActive[slot] === 1) this.#idle[slot] = 0;
    else if (idle < IDLE_BUCKETS || this.#permanent)
      this.#idle[slot] = Math.min(idle + 1, IDLE_BUCKETS);
    else {
      this.#release(slot);
      this.#idle[slot] = FREE;
      this.#free.push(slot);
    }
  }

  #clear(slot: number): void {
    this.#totals.fill(0, slot * TOTALS, (slot + 1) * TOTALS);
    this.#vectors.fill(0, slot * VECTOR_COUNT * 2, (slot + 1) * VECTOR_COUNT * 2);
  }

  #release(slot: number): void {
    const at = slot * 5;
    const hash = this.hash(this.#keys[at] as number, this.#keys.subarray(at + 1, at + 5));
    const bucket = hash & (this.#heads.length - 1);
    if (this.#heads[bucket] === slot) this.#heads[bucket] = this.#next[slot] as number;
    else {
      let before = this.#heads[bucket] as number;
      while (this.#next[before] !== slot) before = this.#next[before] as number;
      this.#next[before] = this.#next[slot] as number;
    }
    this.#clear(slot);
    this.#subjects[slot] = null;
    this.#tenures[slot] = ((this.#tenures[slot] as number) + 1) >>> 0;
  }
}

const NO_VECTORS: readonly VectorCount[] = [];
