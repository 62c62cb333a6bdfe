import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from '../../stack/netns.ts';
import { within } from '../within.ts';

export const PROBE_PORT = 30_000;
const PATIENCE_MS = 10_000;
const SETTLE_MS = 20;

/** From one namespace to any address of another: tells when a verdict changed on the wire. */
export class WireProbe {
  readonly #sender: ChildProcess;
  readonly #receiver: ChildProcess;
  readonly #waiting = new Map<number, (ns: bigint) => void>();
  #last = 0;

  constructor(from: Namespace, to: Namespace) {
    const start = (where: Namespace, role: string): ChildProcess =>
      where.spawn(
        [process.execPath, join(import.meta.dirname, 'arrivals.ts'), role, String(PROBE_PORT)],
        { stdio: ['pipe', 'pipe', 'inherit'] },
      );
    this.#sender = start(from, 'send');
    this.#receiver = start(to, 'receive');
    const answers = this.#receiver.stdout;
    if (answers === null) throw new Error('the probe has no standard output');
    createInterface({ input: answers }).on('line', (line) => {
      const [number, ns] = line.split(' ');
      this.#waiting.get(Number(number))?.(BigInt(ns ?? 0));
    });
  }

  /** Milliseconds from the call of `change` to the first packet that the address gets. */
  async delayOf(address: string, change: () => Promise<void> | void): Promise<number> {
    const number = ++this.#last;
    const arrived = new Promise<bigint>((resolve) => this.#waiting.set(number, resolve));
    this.#sender.stdin?.write(`${number} ${address}\n`);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const begin = process.hrtime.bigint();
    await change();
    const end = await within(PATIENCE_MS, `nothing reached ${address}`, arrived);
    this.#waiting.delete(number);
    if (end < begin) throw new Error(`${address} let packets in before it was instructed to`);
    return Number(end - begin) / 1e6;
  }

  stop(): void {
    this.#sender.stdin?.end();
    this.#receiver.stdin?.end();
  }
}
