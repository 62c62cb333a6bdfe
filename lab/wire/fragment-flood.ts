import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from '../stack/netns.ts';

/** The fragments of a datagram that the flood sends; `both` alternates. */
export type FloodKind = 'first' | 'later' | 'both';

export interface FloodTarget {
  readonly from: Namespace;
  readonly device: string;
  /** The address of the next hop. */
  readonly mac: string;
  readonly destination: string;
  readonly kind: FloodKind;
}

/** Sends fragments from invented sources that never complete a datagram, as fast as one process can. */
export class FragmentFlood {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor({ from, device, mac, destination, kind }: FloodTarget, count?: number) {
    const script = join(import.meta.dirname, 'fragment-flood.py');
    const limit = count === undefined ? [] : [String(count)];
    this.#child = from.spawn(['python3', script, device, mac, destination, kind, ...limit], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const input = this.#child.stdout as NonNullable<ChildProcess['stdout']>;
    this.#lines = createInterface({ input })[Symbol.asyncIterator]();
  }

  /** Resolves when it has sent more than the kernel's default reassembly memory holds, and continues to send. */
  static async begin(target: FloodTarget): Promise<FragmentFlood> {
    const flood = new FragmentFlood(target);
    await flood.#count();
    return flood;
  }

  /** Resolves when this number of fragments, fewer than `begin` sends, has left. */
  static async send(target: FloodTarget, count: number): Promise<void> {
    const flood = new FragmentFlood(target, count);
    const gone = once(flood.#child, 'exit');
    await flood.#count();
    await gone;
  }

  /** Returns the number of fragments sent. */
  async end(): Promise<number> {
    const gone = once(this.#child, 'exit');
    this.#child.stdin?.end();
    const sent = await this.#count();
    await gone;
    return sent;
  }

  async #count(): Promise<number> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('fragment-flood.py ended early');
    const { flooding, sent } = JSON.parse(line.value) as { flooding?: number; sent?: number };
    return flooding ?? sent ?? 0;
  }
}
