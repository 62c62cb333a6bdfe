import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from '../stack/netns.ts';

export type PeerCommand =
  | {
      readonly do: 'bind';
      readonly name: string;
      readonly address: string;
      readonly port: number;
      /** Payload of every reply, as hex. Empty echoes the datagram; null sends no reply. */
      readonly reply: string | null;
      /** Replies only to datagrams that start with it, as hex; to all without. */
      readonly asked?: string;
    }
  | {
      readonly do: 'send';
      readonly name: string;
      readonly to: string;
      readonly port: number;
      readonly count: number;
      /** Payload, as hex. */
      readonly data: string;
    }
  | { readonly do: 'exchange'; readonly name: string; readonly to: string; readonly port: number }
  | { readonly do: 'count'; readonly name: string };

export interface PeerAnswer {
  readonly received: number;
}

/** A process in a namespace with real UDP sockets. */
export class UdpPeer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<PeerAnswer>>();
  #lastId = 0;
  #lastSocket = 0;

  constructor(namespace: Namespace) {
    const script = join(import.meta.dirname, 'udp-peer-process.ts');
    // What one processor sends stays in order: each has a queue of its own, also on a veth.
    this.#child = namespace.spawn(['taskset', '-c', firstProcessor(), process.execPath, script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({
      input: this.#child.stdout as NonNullable<ChildProcess['stdout']>,
    });
    lines.on('line', (line) => {
      const { id, ...answer } = JSON.parse(line) as PeerAnswer & { readonly id: number };
      this.#waiting.get(id)?.resolve(answer);
      this.#waiting.delete(id);
    });
    this.#child.once('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`ended with ${code}`));
    });
  }

  /** Opens a socket; `reply` and `asked` as in `PeerCommand`. */
  async open(address: string, port = 0, reply: string | null = null, asked = ''): Promise<UdpEnd> {
    const name = `${++this.#lastSocket}`;
    await this.command({ do: 'bind', name, address, port, reply, asked });
    return new UdpEnd(this, name);
  }

  command(command: PeerCommand): Promise<PeerAnswer> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<PeerAnswer>();
    this.#waiting.set(id, answer);
    this.#child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`);
    return answer.promise;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await gone;
  }
}

/** One socket of a peer. */
export class UdpEnd {
  readonly #peer: UdpPeer;
  readonly #name: string;

  constructor(peer: UdpPeer, name: string) {
    this.#peer = peer;
    this.#name = name;
  }

  /** Resolves when all have been sent. */
  async send(to: string, port: number, count = 1, data = '78'): Promise<void> {
    await this.#peer.command({ do: 'send', name: this.#name, to, port, count, data });
  }

  /** Sends one datagram and awaits an answer: all earlier ones on the same path have then arrived or were dropped. */
  async exchange(to: string, port: number): Promise<void> {
    await this.#peer.command({ do: 'exchange', name: this.#name, to, port });
  }

  /** Datagrams received so far. */
  async received(): Promise<number> {
    return (await this.#peer.command({ do: 'count', name: this.#name })).received;
  }
}

/** A processor that this process may run on. */
function firstProcessor(): string {
  const allowed = readFileSync('/proc/self/status', 'utf8');
  return /^Cpus_allowed_list:\s*(\d+)/m.exec(allowed)?.[1] ?? '0';
}
