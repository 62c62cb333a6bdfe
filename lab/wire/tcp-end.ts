import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from '../stack/netns.ts';

/** A process in a namespace that holds one end of TCP connections; it ends with the namespace. */
export class TcpEnd {
  readonly #child: ChildProcess;
  readonly #words: AsyncIterator<string>;

  private constructor(namespace: Namespace, ...args: readonly (string | number)[]) {
    const script = join(import.meta.dirname, 'tcp-end.py');
    this.#child = namespace.spawn(['python3', script, ...args.map(String)], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const stdout = this.#child.stdout as NonNullable<ChildProcess['stdout']>;
    this.#words = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /** Echoes; resolves when it listens. */
  static async serve(namespace: Namespace, address: string, port: number): Promise<TcpEnd> {
    const end = new TcpEnd(namespace, 'serve', address, port);
    await end.next();
    return end;
  }

  /** Resolves when connected, with null on failure. `sourcePort` 0 means any port. */
  static async connect(
    namespace: Namespace,
    address: string,
    port: number,
    sourcePort = 0,
  ): Promise<TcpEnd | null> {
    const end = new TcpEnd(namespace, 'connect', address, port, sourcePort);
    return (await end.next()) === 'ready' ? end : null;
  }

  /** Opens this number of connections in sequence, as fast as they are answered; resolves when all are open. */
  static async connectMany(
    namespace: Namespace,
    address: string,
    port: number,
    count: number,
  ): Promise<void> {
    const end = new TcpEnd(namespace, 'crowd', address, port, count);
    const word = await end.next();
    if (word !== 'ready') throw new Error(`${count} connections to ${address}: ${word}`);
  }

  /** For a client: sends data and returns the result. */
  async ask(): Promise<string> {
    this.#child.stdin?.write('hello\n');
    return this.next();
  }

  /** For a server: sends data to all connected clients. */
  async tellAll(): Promise<void> {
    this.#child.stdin?.write('news\n');
    await this.next();
  }

  /** Closes the connection of a client. */
  async close(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await gone;
  }

  /** The next report; for a server, how a connection ended. */
  async next(): Promise<string> {
    const word = await this.#words.next();
    return word.done === true ? 'ended' : word.value;
  }
}
