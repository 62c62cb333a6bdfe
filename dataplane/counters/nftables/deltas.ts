import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import type { Count } from '../../nftables/elements/counter-reader.ts';
import type { Counted } from '../driver.ts';

/** The last values of kernel counters, by name. */
export class Deltas {
  readonly #last = new Map<string, Count>();
  readonly #seen: Record<4 | 6, ReadonlyMap<string, Count>> = { 4: new Map(), 6: new Map() };

  /** Returns null if nothing was added. */
  step(name: string, now: Count): Count | null {
    const last = this.#last.get(name);
    if (last?.packets === now.packets || (last === undefined && now.packets === 0)) return null;
    this.#last.set(name, now);
    return since(last, now);
  }

  forget(name: string): void {
    this.#last.delete(name);
  }

  /** For a set whose elements expire: all elements, each time. */
  stepAll(family: 4 | 6, now: ReadonlyMap<string, Count>): (readonly [string, Count])[] {
    const last = this.#seen[family];
    this.#seen[family] = now;
    return [...now].map(([address, count]) => [address, since(last.get(address), count)] as const);
  }
}

/** A counter that shrank was replaced by another of the same name. */
function since(last: Count | undefined, now: Count): Count {
  if (last === undefined || last.packets > now.packets) return now;
  return { packets: now.packets - last.packets, bytes: now.bytes - last.bytes };
}

/** The sum of a subject's traffic. */
export class Sum {
  packets = 0;
  bytes = 0;
  /** Large TCP packets that the subject sent. */
  sentPackets = 0;
  readonly #vectors = new Map<number, Count>();

  add({ packets, bytes }: Count): void {
    this.packets += packets;
    this.bytes += bytes;
  }

  addVector(vector: number, { packets, bytes }: Count): void {
    const before = this.#vectors.get(vector) ?? NOTHING;
    const sum = { packets: before.packets + packets, bytes: before.bytes + bytes };
    this.#vectors.set(vector, sum);
  }

  counted(subject: string): Counted {
    const data = this.#vectors.get(VECTOR_INDEX.tcp_data) ?? NOTHING;
    const acks = this.#vectors.get(VECTOR_INDEX.tcp_ack) ?? NOTHING;
    return {
      subject,
      packets: this.packets,
      bytes: this.bytes,
      dataPackets: data.packets,
      dataBytes: data.bytes,
      receiptPackets: Math.min(acks.packets, this.sentPackets),
      vectors: [...this.#vectors]
        .map(([vector, count]): VectorCount => ({ vector, ...count }))
        .toSorted((a, b) => a.vector - b.vector),
    };
  }
}

const NOTHING: Count = { packets: 0, bytes: 0 };
