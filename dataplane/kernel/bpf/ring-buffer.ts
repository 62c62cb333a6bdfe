import { type Descriptor } from './bpf.ts';
import { mapMemory } from './memory.ts';

const PAGE_BYTES = 4096;
const HEADER_BYTES = 8;
const BUSY = 0x8000_0000;
const DISCARDED = 0x4000_0000;

/**
 * The consumer of a BPF ring buffer. The memory contains a page with the consumer position, a page with the producer
 * position, and the data twice in a row, so that records never wrap. Source: linux, kernel/bpf/ringbuf.c.
 */
export class RingBuffer {
  readonly #bytes: number;
  readonly #consumer: BigUint64Array;
  readonly #producer: BigUint64Array;
  readonly #data: Buffer;
  readonly #unmap: () => void;

  /** `bytes`: the size of the map, a power of two. Throws `SystemError`. */
  constructor(map: Descriptor, bytes: number) {
    this.#bytes = bytes;
    const own = mapMemory(map, { offset: 0, length: PAGE_BYTES, writable: true });
    const theirs = mapMemory(map, {
      offset: PAGE_BYTES,
      length: PAGE_BYTES + 2 * bytes,
      writable: false,
    });
    this.#consumer = new BigUint64Array(own.view.buffer, 0, 1);
    this.#producer = new BigUint64Array(theirs.view.buffer, 0, 1);
    this.#data = Buffer.from(theirs.view.buffer, PAGE_BYTES, 2 * bytes);
    this.#unmap = () => {
      own.unmap();
      theirs.unmap();
    };
  }

  /** Copies at most `limit` available records. The kernel drops records while the buffer is full. */
  read(limit: number): Buffer[] {
    const records: Buffer[] = [];
    let position = Atomics.load(this.#consumer, 0);
    while (records.length < limit && position < Atomics.load(this.#producer, 0)) {
      const offset = Number(position % BigInt(this.#bytes));
      const header = this.#data.readUInt32LE(offset);
      if (header & BUSY) break;
      const length = (header & ~(BUSY | DISCARDED)) >>> 0;
      if (!(header & DISCARDED)) {
        const begin = offset + HEADER_BYTES;
        records.push(Buffer.from(this.#data.subarray(begin, begin + length)));
      }
      position += BigInt((HEADER_BYTES + length + 7) & ~7);
      Atomics.store(this.#consumer, 0, position);
    }
    return records;
  }

  /** Do not read afterwards. */
  close(): void {
    this.#unmap();
  }
}
