import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX, vectorOf } from '@portcullis/core/attacks/vectors.ts';
import { BITS, formatAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, formatCidr } from '@portcullis/core/net/cidr.ts';
import type { FlowRecord } from './flow-record.ts';
import { Sketch } from './sketch.ts';
import { type Share, Smear } from './smear.ts';
import { SubjectTable } from './subject-table.ts';

export interface AggregateOptions {
  /** What is protected, addresses with their whole length; null: every destination, in prefixes of the usual lengths. */
  readonly prefixes: readonly Cidr[] | null;
  /** Addresses that are counted at a time. */
  readonly addresses: number;
  /** Secret, so that nobody can choose addresses that are slow to find. */
  readonly seed: number;
  /** Packets and bytes in a bucket from which a subject's vectors are told. */
  readonly detail: { readonly packets: number; readonly bytes: number };
}

/** Where nothing is said of prefixes: what is announced at least, of each family. */
const USUAL_LENGTHS = { 4: 24, 6: 48 } as const;
const MAX_USUAL_PREFIXES = 16_384;
/** Records of shorter flows count whole in the bucket in which they come. */
const SHORT_MS = 1000;
/** The sketch is for what came lately. */
const SKETCH_BUCKETS = 4;

const { tcp_data } = VECTOR_INDEX;

/** Adds up records by destination and vector, in buckets. Bounded, whatever destinations there are. */
export class Aggregate {
  readonly counters = {
    /** Records to destinations that are not protected. */
    outside: 0,
    /** Records whose destination found no room, so that only its prefix counts them. */
    crowdedOut: 0,
    /** Records of long flows that found no room to be spread. */
    unspread: 0,
  };
  readonly #addresses: SubjectTable;
  readonly #prefixes: SubjectTable;
  readonly #lengths: Readonly<Record<4 | 6, readonly number[]>>;
  readonly #learnsPrefixes: boolean;
  readonly #sketch = new Sketch();
  readonly #smear = new Smear();
  readonly #detailed: (packets: number, bytes: number) => boolean;
  readonly #masked = new Uint32Array(4);
  /** Slot of the prefix around each address slot. */
  readonly #prefixOf: Int32Array;
  #buckets = 0;

  constructor({ prefixes, addresses, seed, detail }: AggregateOptions) {
    this.#addresses = new SubjectTable(addresses, seed);
    this.#prefixOf = new Int32Array(addresses).fill(-1);
    this.#prefixes = new SubjectTable(
      prefixes?.length ?? MAX_USUAL_PREFIXES,
      seed ^ 0x5bd1e995,
      prefixes !== null,
    );
    this.#learnsPrefixes = prefixes === null;
    const lengths = (family: 4 | 6): number[] => {
      const own = prefixes?.filter((one) => one.family === family) ?? null;
      const all = own === null ? [USUAL_LENGTHS[family]] : own.map(({ length }) => length);
      return [...new Set(all)].toSorted((a, b) => b - a);
    };
    this.#lengths = { 4: lengths(4), 6: lengths(6) };
    for (const prefix of prefixes ?? []) this.#addPrefix(prefix);
    this.#detailed = (packets, bytes) => packets >= detail.packets || bytes >= detail.bytes;
  }

  add(record: FlowRecord): void {
    const prefix = this.#findPrefix(record);
    if (prefix < 0) {
      this.counters.outside++;
      return;
    }
    const { packets, bytes, samplingRate } = record;
    const meanBytes = bytes / packets;
    const vector = vectorOf(
      record.protocol,
      record.sourcePort,
      record.tcpFlags,
      record.part,
      meanBytes,
    );
    const address = this.#findAddress(record, prefix);
    const packetVariance = packets * (samplingRate - 1);
    const byteVariance = packetVariance * meanBytes * meanBytes;
    if (vector === tcp_data) this.#answer(record);
    const durationMs = record.endMs - record.startMs;
    const buckets = durationMs > SHORT_MS ? Smear.buckets(durationMs) : 1;
    // Of a flow longer than is spread, the part that is.
    const part = buckets === 1 ? 1 : Math.min(1 / buckets, BUCKET_MS / durationMs);
    const share: Share = {
      address,
      addressTenure: address < 0 ? 0 : this.#addresses.tenureOf(address),
      prefix,
      prefixTenure: this.#prefixes.tenureOf(prefix),
      vector,
      packets: packets * part,
      bytes: bytes * part,
      packetVariance: packetVariance * part,
      byteVariance: byteVariance * part,
    };
    this.#countShare(share);
    if (buckets > 1 && !this.#smear.add(share, buckets - 1)) this.counters.unspread++;
  }

  /** Ends the bucket. */
  close(atMs: number, durationMs: number): Sample {
    const addresses: SubjectSample[] = [];
    const prefixes: SubjectSample[] = [];
    const nameOfPrefix = (slot: number): string => this.#prefixes.subjectOf(slot, formatPrefix);
    this.#addresses.drain((slot) => {
      const prefix = this.#prefixOf[slot] as number;
      const name = this.#addresses.subjectOf(slot, formatHost);
      const outer = prefix < 0 ? null : nameOfPrefix(prefix);
      // An address that is protected by itself is in no prefix, and is none.
      const around = outer === null || isHost(outer) ? null : outer;
      addresses.push(this.#addresses.sampleOf(slot, name, around, this.#detailed));
    });
    this.#prefixes.drain((slot) => {
      const name = nameOfPrefix(slot);
      if (isHost(name)) return;
      prefixes.push(this.#prefixes.sampleOf(slot, name, null, this.#detailed));
    });
    if (++this.#buckets % SKETCH_BUCKETS === 0) this.#sketch.clear();
    this.#smear.step((share) => this.#countShare(share));
    return { atMs, durationMs, addresses, prefixes };
  }

  #countShare(share: Share): void {
    const { address, prefix, vector, packets, bytes, packetVariance, byteVariance } = share;
    if (this.#prefixes.tenureOf(prefix) === share.prefixTenure) {
      this.#prefixes.add(prefix, vector, packets, bytes, packetVariance, byteVariance);
    }
    if (address >= 0 && this.#addresses.tenureOf(address) === share.addressTenure) {
      this.#addresses.add(address, vector, packets, bytes, packetVariance, byteVariance);
    }
  }

  /** The slot of the longest prefix around a destination; -1: it is in none. */
  #findPrefix({ family, destination, packets }: FlowRecord): number {
    const table = this.#prefixes;
    for (const length of this.#lengths[family]) {
      maskInto(this.#masked, destination, family === 4 ? length + 96 : length);
      const head = headOf(family, length);
      const hash = table.hash(head, this.#masked);
      const slot = table.find(head, this.#masked, hash);
      if (slot >= 0) return slot;
      if (this.#learnsPrefixes) return table.insert(head, this.#masked, hash, packets);
    }
    return -1;
  }

  #findAddress({ family, destination, packets }: FlowRecord, prefix: number): number {
    const table = this.#addresses;
    const head = headOf(family, BITS[family]);
    const hash = table.hash(head, destination);
    let slot = table.find(head, destination, hash);
    if (slot < 0) {
      const weight = table.isFull ? this.#sketch.add(hash, packets) : packets;
      slot = table.insert(head, destination, hash, weight);
      if (slot < 0) this.counters.crowdedOut++;
    }
    if (slot >= 0) this.#prefixOf[slot] = prefix;
    return slot;
  }

  /** A known subject that sends much is sent many receipts. */
  #answer({ family, source, packets }: FlowRecord): void {
    const table = this.#addresses;
    const head = headOf(family, BITS[family]);
    const slot = table.find(head, source, table.hash(head, source));
    if (slot >= 0) table.addAnswered(slot, packets);
  }

  #addPrefix(prefix: Cidr): void {
    const words = new Uint32Array(4);
    for (let index = 0; index < 4; index++) {
      words[index] = Number((prefix.value >> BigInt(96 - 32 * index)) & 0xffffffffn);
    }
    const head = headOf(prefix.family, prefix.length);
    const hash = this.#prefixes.hash(head, words);
    if (this.#prefixes.find(head, words, hash) < 0) {
      this.#prefixes.insert(head, words, hash, Number.POSITIVE_INFINITY);
    }
  }
}

/** Family and length in one number: what tells subjects apart beside their address. */
function headOf(family: 4 | 6, length: number): number {
  return family * 256 + length;
}

function formatPrefix(head: number, words: Uint32Array): string {
  const family = head >> 8 === 4 ? 4 : 6;
  return formatCidr({ family, value: valueOf(words), length: head & 255 });
}

function isHost(prefix: string): boolean {
  return prefix.endsWith(prefix.includes(':') ? '/128' : '/32');
}

function formatHost(head: number, words: Uint32Array): string {
  return formatAddress({ family: head >> 8 === 4 ? 4 : 6, value: valueOf(words) });
}

function valueOf(words: Uint32Array): bigint {
  return words.reduce((value, word) => (value << 32n) | BigInt(word), 0n);
}

/** The first `length` bits of four words; the others 0. */
function maskInto(into: Uint32Array, words: Uint32Array, length: number): void {
  for (let index = 0; index < 4; index++) {
    const bits = length - 32 * index;
    const mask = bits >= 32 ? 0xffffffff : bits <= 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
    into[index] = (words[index] as number) & mask;
  }
}
