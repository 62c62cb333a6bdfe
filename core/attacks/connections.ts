import type { Traffic } from './sample.ts';
import { VECTOR_INDEX } from './vectors.ts';

/** The TCP packets of a subject in a bucket, by what is known of their connections. Needs both directions. */
export interface Connections {
  /** Packets with ACK that belong to no connection: longer than `DATA_BYTES`, and the others. */
  readonly strayData: Amount;
  readonly strayAcks: Amount;
  /** Packets that the subject sent in connections whose handshake is complete. */
  readonly answers: number;
  /** Connections in which the subject sent its first payload. Each counts once, after its handshake. */
  readonly served: number;
}

interface Amount {
  readonly packets: number;
  readonly bytes: number;
}

type CountedTraffic = Pick<Traffic, 'dataPackets' | 'dataBytes' | 'receiptPackets' | 'vectors'>;

/** A peer sends at most so many packets for each one that it gets: it need not acknowledge, but may ask. */
const PACKETS_PER_ANSWER = 2;

const { tcp_syn: SYN, tcp_ack: ACK, tcp_data: DATA } = VECTOR_INDEX;

/**
 * Corrects the vectors of a subject by its connections. Large packets without a connection are no transfer: they become
 * `tcp_ack`. The SYNs of connections that are served, and packets in connections as far as the subject answers them, are no
 * flood whatever their rate: they become `tcp_data`, of which only the bytes count. Unchanged without vectors.
 */
export function byConnections<T extends CountedTraffic>(traffic: T, known: Connections): T {
  if (traffic.vectors.length === 0) return traffic;
  const moves = new VectorMoves(traffic);
  const strayAcks = Math.max(0, known.strayAcks.packets - known.served);
  // A SYN proxy sees the ACK of a handshake before there is a connection.
  const connected = Math.max(0, moves.packetsOf(ACK) - strayAcks);
  const answered = Math.min(connected, known.answers * PACKETS_PER_ANSWER);
  const { packets, bytes } = known.strayData;
  const strayBytes = Math.min(bytes, moves.bytesOf(DATA));
  const stray = { packets: Math.min(packets, moves.packetsOf(DATA)), bytes: strayBytes };
  moves.move(ACK, DATA, moves.partOf(ACK, answered));
  moves.move(SYN, DATA, moves.partOf(SYN, known.served));
  moves.move(DATA, ACK, stray);
  return moves.applied();
}

class VectorMoves<T extends CountedTraffic> {
  readonly #traffic: T;
  readonly #amounts: Map<number, Amount>;
  /** The packets that `DATA` gained. */
  #packets = 0;
  #bytes = 0;

  constructor(traffic: T) {
    this.#traffic = traffic;
    this.#amounts = new Map(traffic.vectors.map(({ vector, ...amount }) => [vector, amount]));
  }

  packetsOf(vector: number): number {
    return this.#of(vector).packets;
  }

  bytesOf(vector: number): number {
    return this.#of(vector).bytes;
  }

  /** At most `most` packets of a vector, of its mean length. */
  partOf(vector: number, most: number): Amount {
    const { packets, bytes } = this.#of(vector);
    const part = Math.min(packets, most);
    return { packets: part, bytes: packets === 0 ? 0 : Math.round((bytes * part) / packets) };
  }

  move(from: number, to: number, amount: Amount): void {
    this.#add(from, -amount.packets, -amount.bytes);
    this.#add(to, amount.packets, amount.bytes);
    const sign = to === DATA ? 1 : -1;
    this.#packets += sign * amount.packets;
    this.#bytes += sign * amount.bytes;
  }

  applied(): T {
    const { dataPackets, dataBytes } = this.#traffic;
    return {
      ...this.#traffic,
      dataPackets: Math.max(0, dataPackets + this.#packets),
      dataBytes: Math.max(0, dataBytes + this.#bytes),
      // They are answered packets, and so among the data already.
      receiptPackets: 0,
      vectors: [...this.#amounts]
        .map(([vector, amount]) => ({ vector, ...amount }))
        .filter(({ packets, bytes }) => packets > 0 || bytes > 0)
        .toSorted((a, b) => a.vector - b.vector),
    };
  }

  #of(vector: number): Amount {
    return this.#amounts.get(vector) ?? NOTHING;
  }

  #add(vector: number, packets: number, bytes: number): void {
    const before = this.#of(vector);
    this.#amounts.set(vector, {
      packets: Math.max(0, before.packets + packets),
      bytes: Math.max(0, before.bytes + bytes),
    });
  }
}

const NOTHING: Amount = { packets: 0, bytes: 0 };
