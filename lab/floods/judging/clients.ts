import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { within } from '../../bench/within.ts';
import type { Namespace } from '../../stack/netns.ts';
import type { Crowd } from '../attacks/attack.ts';

/**
 * Clients of an attacked host. `old`: UDP clients that were answered before. `new`: UDP clients, one after another,
 * each from a source that sends for the first time. `kept`: HTTP connections that were open before. `tcp`: an HTTP
 * connection, one after another. `busy`: one of `old` with a higher rate. `crowd`: many HTTP connections.
 */
export const CLIENT_KINDS = ['old', 'new', 'kept', 'tcp', 'busy', 'crowd'] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

export interface ClientsPlan {
  readonly address: string;
  readonly game: number;
  readonly web: number;
  /** The start of the game's answer, as hex. */
  readonly asked: string;
  readonly old: readonly string[];
  readonly kept: readonly string[];
  readonly busy: { readonly source: string; readonly pps: number } | null;
  /** Sources of new clients, each used once and then again from the first. */
  readonly strangers: readonly string[];
  readonly crowd: (Omit<Crowd, 'sources'> & { readonly sources: readonly string[] }) | null;
}

/** One request: when it was sent, by the wall clock, and how long its answer took; null without an answer. */
export type Try = readonly [atMs: number, waitedMs: number | null];
export type Tries = Readonly<Record<ClientKind, readonly Try[]>>;

const READY_MS = 20_000;
const STOP_MS = 20_000;

/** The clients beside an attack, in a process of their own. */
export class Clients {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** Resolves when the old clients and the kept connections were answered. */
  static async start(from: Namespace, plan: ClientsPlan): Promise<Clients> {
    const clients = new Clients(from, plan);
    try {
      await within(READY_MS, `nothing answers at ${plan.address}`, clients.#next());
    } catch (error) {
      clients.kill();
      throw error;
    }
    return clients;
  }

  private constructor(from: Namespace, plan: ClientsPlan) {
    const script = join(import.meta.dirname, 'clients-process.ts');
    this.#child = from.spawn(
      ['nice', '--adjustment=-15', process.execPath, script, JSON.stringify(plan)],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const stdout = this.#child.stdout as Readable;
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /** The crowd comes. */
  gather(): void {
    (this.#child.stdin as Writable).write('crowd\n');
  }

  /** Resolves with every try when each has been answered or has run out of patience. */
  async stop(): Promise<Tries> {
    (this.#child.stdin as Writable).write('stop\n');
    const line = await within(STOP_MS, 'the clients do not end', this.#next());
    await once(this.#child, 'exit');
    return JSON.parse(line) as Tries;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #next(): Promise<string> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the clients ended');
    return line.value;
  }
}
