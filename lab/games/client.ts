import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from '../stack/netns.ts';
import type { Game } from './client-process.ts';
import type { Facts } from './session.ts';

export type { Game } from './client-process.ts';

const JOIN_MS = 60_000;
const HEAR_MS = 60_000;

/** A real client of a game, in a network namespace. */
export class GameClient {
  readonly facts: Facts;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** Rejects when the server does not let it in. */
  static async join(
    namespace: Namespace,
    game: Game,
    host: string,
    port: number,
    patienceMs = JOIN_MS,
  ): Promise<GameClient> {
    const script = join(import.meta.dirname, 'client-process.ts');
    const child = namespace.spawn([process.execPath, script, game, host, String(port)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const impatient = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    const input = child.stdout as NonNullable<ChildProcess['stdout']>;
    const lines = createInterface({ input })[Symbol.asyncIterator]();
    const first = await lines.next();
    clearTimeout(impatient);
    if (first.done === true) {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      throw new Error(
        `the client of ${game} did not get in: ${said || `${patienceMs} ms went by`}`,
      );
    }
    return new GameClient(child, JSON.parse(first.value) as Facts, lines);
  }

  private constructor(child: ChildProcess, facts: Facts, lines: AsyncIterator<string>) {
    this.#child = child;
    this.facts = facts;
    this.#lines = lines;
  }

  /** Resolves when the server has said this text to its players. */
  async hears(text: string): Promise<void> {
    const impatient = setTimeout(() => this.#child.kill('SIGKILL'), HEAR_MS);
    try {
      for (;;) {
        const { value, done } = await this.#lines.next();
        if (done === true) throw new Error(`the client never heard "${text}"`);
        if (Buffer.from(value, 'base64').includes(text)) return;
      }
    } finally {
      clearTimeout(impatient);
    }
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
