import type { QueryClient } from '@tanstack/react-query';

/** Events of this time are one reading. */
const GATHER_MS = 150;
/** Between two readings, however much happens. */
const PAUSE_MS = 1_000;

type Key = readonly string[];

/** Reads stale queries again, those of events that come close together at once. */
export class StaleReader {
  readonly #queries: Pick<QueryClient, 'invalidateQueries'>;
  readonly #stale = new Map<string, Key>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readMs = -Infinity;

  constructor(queries: Pick<QueryClient, 'invalidateQueries'>) {
    this.#queries = queries;
  }

  note(keys: readonly Key[]): void {
    for (const key of keys) this.#stale.set(key.join(' '), key);
    if (this.#stale.size === 0) return;
    const pauseMs = this.#readMs + PAUSE_MS - performance.now();
    this.#timer ??= setTimeout(() => this.#read(), Math.max(GATHER_MS, pauseMs));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #read(): void {
    this.#timer = undefined;
    this.#readMs = performance.now();
    for (const queryKey of this.#stale.values()) void this.#queries.invalidateQueries({ queryKey });
    this.#stale.clear();
  }
}
