import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ranNs, type RealServer } from '../stack/game-servers.ts';
import type { Internet } from '../stack/internet.ts';
import type { Namespace } from '../stack/netns.ts';

/** The cost of one packet of a flood for a server, its own clients included. */
export interface Load {
  /** Packets of its transport that its kernel took, and those that it answered. */
  readonly packets: number;
  /** Processor time of its kernel for what it receives and answers at once. */
  readonly kernelNs: number;
  /** Processor time of its own process, above what that takes at rest in the same time. */
  readonly processNs: number;
}

const DEVICE = 'eth0';
/** The time after which the queue is read. */
export const QUEUED_MS = 200;

/**
 * Reads the load of a server. Its kernel receives in threads of its own, so that the scheduler says what that took:
 * what a flood costs the rest of a machine that also makes the flood, and whatever else runs on it, is not in it.
 */
export class ServerLoad {
  readonly #server: RealServer;
  readonly #namespace: Namespace;
  readonly #transport: 'Tcp' | 'Udp';
  readonly #threads: readonly string[];
  /** The rest of its process, for each millisecond that nobody floods. */
  #restNs = 0;

  constructor({ edge, server }: Internet, of: RealServer, transport: 'Tcp' | 'Udp') {
    this.#server = of;
    this.#namespace = server;
    this.#transport = transport;
    const before = new Set(receivers());
    // A veth has queues to receive by with GRO, and is only given to them what was not put together for it already.
    server.run('ethtool', '-K', DEVICE, 'gro', 'on');
    edge.run('ethtool', '-K', 'lan', 'tso', 'off');
    server.run('sh', '-c', `echo 1 >/sys/class/net/${DEVICE}/threaded`);
    this.#threads = receivers().filter((thread) => !before.has(thread));
    if (this.#threads.length === 0) throw new Error('the server does not receive in threads');
  }

  /** A game computes its world all the time, and what `play` asks of it. */
  async atRest(play: () => Promise<unknown>): Promise<void> {
    const begin = performance.now();
    const before = this.#server.processorNs();
    await play();
    this.#restNs = (this.#server.processorNs() - before) / (performance.now() - begin);
  }

  /** `flood` answers how many packets it was. */
  async during(flood: () => Promise<number>): Promise<Load> {
    const begin = performance.now();
    const before = this.#read();
    const sent = await flood();
    const read = this.#read();
    const restNs = this.#restNs * (performance.now() - begin);
    const after = { ...read, processNs: Math.max(read.processNs - restNs, before.processNs) };
    const each = (kind: keyof Load): number => (after[kind] - before[kind]) / sent;
    return {
      packets: each('packets'),
      kernelNs: each('kernelNs'),
      processNs: each('processNs'),
    };
  }

  #read(): Load {
    return {
      packets: this.#packets(),
      kernelNs: this.#threads.reduce((sum, thread) => sum + ranNs(thread), 0),
      processNs: this.#server.processorNs(),
    };
  }

  #packets(): number {
    const [names = [], values = []] = this.#namespace
      .run('cat', '/proc/net/snmp')
      .split('\n')
      .filter((line) => line.startsWith(`${this.#transport}:`))
      .map((line) => line.split(' '));
    const valueOf = (name: string): number => Number(values[names.indexOf(name)]);
    return COUNTERS[this.#transport].reduce((sum, name) => sum + valueOf(name), 0);
  }
}

/** Counters of datagrams, those too that its socket had no room for. */
const COUNTERS = {
  Tcp: ['InSegs', 'OutSegs'],
  Udp: ['InDatagrams', 'InErrors', 'NoPorts', 'OutDatagrams'],
} as const;

/** Folders below /proc of the threads that devices of this name receive in, whoever's they are. */
function receivers(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => join('/proc', pid))
    .filter((about) => commandOf(about).startsWith(`napi/${DEVICE}-`));
}

function commandOf(about: string): string {
  try {
    return readFileSync(join(about, 'comm'), 'utf8');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

export function inWords({ packets, kernelNs, processNs }: Load): string {
  const of = (value: number): string => value.toPrecision(3);
  return `${of(packets)} packets, ${of(kernelNs)} ns of its kernel, ${of(processNs)} ns of its process`;
}
