import type { Probe, ProbePacket } from './probe.ts';

/** An unprotected address at the far end: packets to it always arrive. */
export interface Sentinels {
  readonly 4: string;
  readonly 6: string;
}

/** A packet of a stream. */
export interface Passed {
  /** Wall-clock time just before it left. */
  readonly atMs: number;
  readonly passed: boolean;
}

export interface Sent extends Passed {
  /** Wall-clock time when it had arrived or was dropped: on a busy machine long after it left. */
  readonly settledMs: number;
}

const BETWEEN_MS = 3;
const RESTORED_MS = 30_000;
/** Until a sentinel is sent again, and how often: one that nobody forwards yet is lost. */
const SENTINEL_MS = 5_000;
const SENTINEL_TRIES = 6;

/**
 * Tests whether packets pass from one probe to another. Each packet is followed by one to a sentinel address on the
 * same wires: if only the sentinel's arrives, the packet was dropped. This needs no timeout.
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
    await this.#settle(packet);
    return this.#to.seen(marker) !== null;
  }

  /** Sends packets in sequence until stopped, the last one after that; then returns which of them passed. */
  stream(next: () => ProbePacket): { stop(): Promise<Passed[]> } {
    const sent: { readonly atMs: number; readonly marker: string }[] = [];
    const state = { stopped: false };
    const sending = (async (): Promise<ProbePacket> => {
      for (;;) {
        const packet = next();
        const atMs = Date.now();
        sent.push({ atMs, marker: await this.#from.send(packet) });
        if (state.stopped) return packet;
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      }
    })();
    return {
      stop: async () => {
        state.stopped = true;
        await this.#settle(await sending);
        return sent.map(({ atMs, marker }) => ({ atMs, passed: this.#to.seen(marker) !== null }));
      },
    };
  }

  /** The same, each packet once the one before has arrived or was dropped. */
  settledStream(next: () => ProbePacket): { stop(): Promise<Sent[]> } {
    const sent: Sent[] = [];
    const state = { stopped: false };
    const sending = (async (): Promise<void> => {
      while (!state.stopped) {
        const atMs = Date.now();
        const passed = await this.passes(next());
        sent.push({ atMs, settledMs: Date.now(), passed });
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      }
    })();
    return {
      stop: async () => {
        state.stopped = true;
        await sending;
        return sent;
      },
    };
  }

  /** Sends one of each packet every millisecond, from before it resolves until it is stopped. */
  async steadily(packets: readonly ProbePacket[]): Promise<{ stop(): Promise<Passed[][]> }> {
    const stream = await this.#from.begin(packets, 1);
    return {
      stop: async () => {
        const { times, unsent } = await stream.halt();
        for (const packet of packets) await this.#settle(packet);
        const not = new Set(unsent);
        return packets.map((_, index) =>
          times.flatMap((atMs, round) =>
            not.has(round)
              ? []
              : [{ atMs, passed: this.#to.seen(stream.marker(index, round)) !== null }],
          ),
        );
      },
    };
  }

  /** Resolves when a packet like this passes again after a device was absent. */
  async restored(packet: ProbePacket): Promise<void> {
    const deadline = performance.now() + RESTORED_MS;
    const sent: string[] = [];
    while (!sent.some((marker) => this.#to.seen(marker) !== null)) {
      if (performance.now() > deadline) throw new Error(`no way to ${packet.destination}`);
      // Without a route it cannot be sent.
      sent.push(...(await this.#sendSentinel(packet).then(one, none)));
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
    }
  }

  /** Resolves when all packets sent before have arrived or were dropped. */
  async #settle(packet: ProbePacket): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const marker = await this.#sendSentinel(packet);
      try {
        await this.#to.arrival(marker, SENTINEL_MS);
        break;
      } catch (error) {
        if (tries === SENTINEL_TRIES) throw error;
      }
    }
    await this.#to.barrier();
  }

  #sendSentinel({ source, destination }: ProbePacket): Promise<string> {
    return this.#from.send({
      source,
      destination: this.#sentinels[destination.includes(':') ? 6 : 4],
      protocol: 'udp',
      sourcePort: 40_000,
      destinationPort: 9,
    });
  }
}

const one = (marker: string): string[] => [marker];
const none = (): string[] => [];
