import { formatAddress } from '@portcullis/core/net/address.ts';
import type { CounterSample } from '../../counters/driver.ts';
import type { RingBuffer } from '../../kernel/bpf/ring-buffer.ts';
import { LAYOUT } from '../maps/layout.ts';

/** `struct packet_sample` of layout.h. */
const [REMOTE_AT, LOCAL_PORT_AT, REMOTE_PORT_AT, PACKETS_AT] = [16, 32, 34, 36];
const [FAMILY_AT, PROTOCOL_AT] = [38, 39];
/** The capacity of the ring buffer in records. */
const AT_ONCE = 1024;
/** Fewer or more samples in a read change the sampling rate. */
const [ENOUGH, TOO_MANY] = [64, 256];
const MAX_MASK = 2 ** 15 - 1;
/** So many times as many packets are counted by vector as are sampled, in powers of two. */
const MORE_VECTORS = 4;

/**
 * Samples of packets to subjects with counted vectors. The sampling rate adapts, so that the number of samples does
 * not depend on the traffic.
 */
export class PacketSamples {
  readonly #ring: RingBuffer;
  readonly #setRates: (mask: number, vectorShift: number) => void;
  #mask = 2 ** MORE_VECTORS - 1;

  /** `setRates`: samples one in `mask` + 1 packets, and counts one in 2^`vectorShift` drops by its vector. */
  constructor(ring: RingBuffer, setRates: (mask: number, vectorShift: number) => void) {
    this.#ring = ring;
    this.#setRates = setRates;
    setRates(this.#mask, 0);
  }

  read(): CounterSample[] {
    const records = this.#ring.read(AT_ONCE);
    if (records.length > TOO_MANY) this.#change(Math.min(MAX_MASK, this.#mask * 4 + 3));
    else if (records.length < ENOUGH) this.#change(this.#mask >>> 1);
    return records.flatMap((record) => readSample(record) ?? []);
  }

  #change(mask: number): void {
    if (mask === this.#mask) return;
    this.#mask = mask;
    this.#setRates(mask, Math.max(0, Math.log2(mask + 1) - MORE_VECTORS));
  }
}

function readSample(record: Buffer): CounterSample | null {
  const family = record[FAMILY_AT];
  if (record.length < LAYOUT.REPORTED_SAMPLE_BYTES || (family !== 4 && family !== 6)) return null;
  const addressAt = (at: number): string => {
    const high = record.readBigUInt64BE(at);
    const value = family === 4 ? high >> 32n : (high << 64n) | record.readBigUInt64BE(at + 8);
    return formatAddress({ family, value });
  };
  return {
    protocol: record.readUInt8(PROTOCOL_AT),
    destination: addressAt(0),
    source: addressAt(REMOTE_AT),
    destinationPort: record.readUInt16LE(LOCAL_PORT_AT),
    sourcePort: record.readUInt16LE(REMOTE_PORT_AT),
    packets: record.readUInt16LE(PACKETS_AT),
  };
}
