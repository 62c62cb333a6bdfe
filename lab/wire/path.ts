import type { Probe, ProbePacket } from './probe.ts';

/** An address at the far end that nobody protects: what is sent to it always arrives. */
export interface Sentinels {
  readonly 4: string;
  readonly 6: string;
}

/**
 * Whether packets get from one probe to another. A packet that is followed by one to a sentinel, on the
 * same wires, has been dropped when the sentinel's arrived and it did not: no waiting, no guessing.
 */
export class Path {
  readonly #from: Probe;
  readonly #to: Probe;
  readonly #sentinels: Sentinels;

  constructor(from: Probe, to: Probe, sentinels: Sentinels) {
    this.#from = from;
    this.#to = to;
    this.#sentinels = sentinels;
  }

  async passes(packet: ProbePacket): Promise<boolean> {
    const marker = await this.#from.send(packet);
    const family = packet.destination.includes(':') ? 6 : 4;
    const sentinel = await this.#from.send({
      source: packet.source,
      destination: this.#sentinels[family],
      protocol: 'udp',
      sourcePort: 40_000,
      destinationPort: 9,
    });
    await this.#to.arrival(sentinel);
    await this.#to.barrier();
    return this.#to.seen(marker) !== null;
  }
}
