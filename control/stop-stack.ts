import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Stops what was started, in reverse order, each within a time limit. */
export class StopStack {
  readonly #log: Logger;
  readonly #stops: { readonly name: string; readonly stop: () => Promise<unknown> }[] = [];
  #unwinding = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  push(name: string, stop: () => Promise<unknown>): void {
    this.#stops.push({ name, stop });
  }

  /** Whether a stop is in progress, which explains broken connections. */
  get unwinding(): boolean {
    return this.#unwinding;
  }

  /** Never rejects: one part that cannot be stopped does not prevent the others from stopping. */
  async unwind(eachMs: number): Promise<void> {
    this.#unwinding = true;
    for (let entry = this.#stops.pop(); entry !== undefined; entry = this.#stops.pop()) {
      const { name, stop } = entry;
      const waiting = new AbortController();
      const late = delay(eachMs, 'late' as const, { signal: waiting.signal }).catch(() => 'done');
      try {
        const how = await Promise.race([stop().then(() => 'done' as const), late]);
        if (how === 'late') this.#log.warn({ part: name, eachMs }, 'a part takes too long to stop');
      } catch (error) {
        this.#log.warn({ part: name, error }, 'a part could not be stopped');
      } finally {
        waiting.abort();
      }
    }
  }
}
