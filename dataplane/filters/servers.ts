import { probeServer } from './server-probe.ts';
import type { TcpServer } from './tcp-server.ts';

export interface ServerPort {
  readonly address: string;
  readonly port: number;
}

export interface KnownServersOptions {
  readonly probe?: (address: string, port: number) => Promise<TcpServer | null>;
  /** The options of the servers at these addresses have changed. */
  readonly onChange: (addresses: readonly string[]) => void;
  readonly everyMs?: number;
}

const EVERY_MS = 300_000;
const AT_ONCE = 16;

/**
 * The handshake options of the servers behind the SYN proxy. Each server is probed when it is added, and every few
 * minutes. Its options are kept while it does not answer: it may be down or at capacity.
 */
export class KnownServers {
  readonly #options: KnownServersOptions;
  readonly #known = new Map<string, TcpServer>();
  readonly #wanted = new Map<string, ServerPort>();
  readonly #due = new Map<string, ServerPort>();
  #probing = false;
  #stopped = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: KnownServersOptions) {
    this.#options = options;
    this.#timer = setInterval(
      () => void this.#probe([...this.#wanted.values()]),
      options.everyMs ?? EVERY_MS,
    );
    this.#timer.unref();
  }

  at(address: string, port: number): TcpServer | null {
    return this.#known.get(keyOf({ address, port })) ?? null;
  }

  /** Resolves when the added servers have been probed. A server in both lists keeps its options and is not probed. */
  async change(removed: readonly ServerPort[], added: readonly ServerPort[]): Promise<void> {
    const staying = new Set(added.map(keyOf));
    const before = new Set(removed.map(keyOf));
    for (const key of before) {
      if (staying.has(key)) continue;
      this.#wanted.delete(key);
      this.#known.delete(key);
    }
    for (const one of added) this.#wanted.set(keyOf(one), one);
    await this.#probe(added.filter((one) => !before.has(keyOf(one))));
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** Resolves when no server is left to probe. Servers added meanwhile are included. */
  async #probe(ports: readonly ServerPort[]): Promise<void> {
    for (const one of ports) this.#due.set(keyOf(one), one);
    if (this.#probing || this.#stopped) return;
    this.#probing = true;
    const changed = new Set<string>();
    const work = async (): Promise<void> => {
      for (const [key, one] of this.#due) {
        if (this.#stopped) return;
        this.#due.delete(key);
        if (await this.#probeOne(one)) changed.add(one.address);
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } finally {
      this.#probing = false;
    }
    if (changed.size > 0 && !this.#stopped) this.#options.onChange([...changed]);
  }

  /** Returns whether the options changed. */
  async #probeOne(one: ServerPort): Promise<boolean> {
    const server = await (this.#options.probe ?? probeServer)(one.address, one.port);
    const key = keyOf(one);
    if (server === null || !this.#wanted.has(key)) return false;
    const same = JSON.stringify(this.#known.get(key)) === JSON.stringify(server);
    this.#known.set(key, server);
    return !same;
  }
}

function keyOf({ address, port }: ServerPort): string {
  return `${address} ${port}`;
}
