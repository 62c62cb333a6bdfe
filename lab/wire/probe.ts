import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Namespace } from '../stack/netns.ts';

export const PROTOCOL = {
  icmp: 1,
  tcp: 6,
  udp: 17,
  gre: 47,
  esp: 50,
  icmpv6: 58,
  sctp: 132,
} as const;

/** A packet for probe.py to send; ports and ICMP type where the protocol has them. */
export interface ProbePacket {
  readonly source: string;
  readonly destination: string;
  readonly protocol: keyof typeof PROTOCOL;
  readonly sourcePort?: number;
  readonly destinationPort?: number;
  readonly icmp?: readonly [type: number, code: number];
  readonly hopLimit?: number;
  /** Number of fragments; only the first holds the ports. */
  readonly fragments?: number;
}

type ProbeEvent =
  | { readonly ready: true }
  | ({ readonly sent: number } & Partial<Beats>)
  | { readonly failed: number; readonly reason: string }
  | { readonly seen: string; readonly protocol: number; readonly source: string };

/** For a stream: when each round of packets was sent (Unix time in ms), and the rounds that could not be sent. */
export interface Beats {
  readonly times: readonly number[];
  readonly unsent: readonly number[];
}

const ANSWER_MS = 30_000;

/** A process in a namespace that sends crafted packets and reports which arrive. */
export class Probe {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  readonly #sent = new Map<number, PromiseWithResolvers<Partial<Beats>>>();
  readonly #seen = new Map<string, { readonly protocol: number; readonly source: string }>();
  readonly #awaited = new Map<string, () => void>();
  #lastId = 0;
  #lastStream = 0;

  constructor(namespace: Namespace) {
    const script = join(import.meta.dirname, 'probe.py');
    this.#child = namespace.spawn(['python3', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({
      input: this.#child.stdout as NonNullable<ChildProcess['stdout']>,
    });
    lines.on('line', (line) => this.#take(JSON.parse(line) as ProbeEvent));
    this.#child.once('exit', (code) => {
      const error = new Error(`probe.py ended with ${code}`);
      this.#ready.reject(error);
      for (const id of this.#sent.keys()) this.#settle(id)?.reject(error);
    });
    this.#child.once('error', (error) => this.#ready.reject(error));
  }

  async started(): Promise<this> {
    await this.#ready.promise;
    return this;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await gone;
  }

  /** Resolves with the marker once the packet has left. */
  async send(packet: ProbePacket): Promise<string> {
    const marker = randomBytes(8).toString('hex');
    await this.#command({ packet: toWire(packet, marker) });
    return marker;
  }

  /**
   * Sends one of each packet in every interval until halted, from changing ports; `marker` names the one of a
   * packet in a round.
   */
  async begin(packets: readonly ProbePacket[], everyMs: number): Promise<ProbeStream> {
    this.#lastStream += 1;
    const name = hex(this.#lastStream, 4);
    const wire = packets.map((packet) => toWire(packet, ''));
    await this.#command({ stream: { name, every: everyMs / 1000, packets: wire } });
    return {
      marker: (packet, round) => `${name}${hex(packet, 2)}${hex(round, 10)}`,
      halt: async () => {
        const { times = [], unsent = [] } = await this.#command({ halt: name });
        return { times, unsent };
      },
    };
  }

  /** Resolves when `seen` covers all packets that have arrived. */
  async barrier(): Promise<void> {
    await this.#command({});
  }

  /** The packet that arrived here with this marker, if any. */
  seen(marker: string): { readonly protocol: number; readonly source: string } | null {
    return this.#seen.get(marker) ?? null;
  }

  arrival(marker: string, withinMs = ANSWER_MS): Promise<void> {
    if (this.#seen.has(marker)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#awaited.delete(marker);
        reject(new Error(`nothing with marker ${marker} arrived within ${withinMs} ms`));
      }, withinMs);
      this.#awaited.set(marker, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #command(command: object): Promise<Partial<Beats>> {
    const id = ++this.#lastId;
    const sent = Promise.withResolvers<Partial<Beats>>();
    this.#sent.set(id, sent);
    this.#child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`);
    return sent.promise;
  }

  #take(event: ProbeEvent): void {
    if ('ready' in event) this.#ready.resolve();
    else if ('sent' in event) this.#settle(event.sent)?.resolve(event);
    else if ('failed' in event) this.#settle(event.failed)?.reject(new Error(event.reason));
    else {
      this.#seen.set(event.seen, event);
      this.#awaited.get(event.seen)?.();
      this.#awaited.delete(event.seen);
    }
  }

  #settle(id: number): PromiseWithResolvers<Partial<Beats>> | undefined {
    const sent = this.#sent.get(id);
    this.#sent.delete(id);
    return sent;
  }
}

export interface ProbeStream {
  marker(packet: number, round: number): string;
  halt(): Promise<Beats>;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function toWire(packet: ProbePacket, marker: string): object {
  return {
    family: packet.destination.includes(':') ? 6 : 4,
    source: packet.source,
    destination: packet.destination,
    protocol: PROTOCOL[packet.protocol],
    source_port: packet.sourcePort ?? null,
    destination_port: packet.destinationPort ?? null,
    icmp: packet.icmp ?? null,
    hop_limit: packet.hopLimit ?? null,
    fragments: packet.fragments ?? 1,
    padding: packet.fragments === undefined ? 0 : 64 * packet.fragments,
    marker,
  };
}
