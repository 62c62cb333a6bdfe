import type { QueryClient } from '@tanstack/react-query';
import type { KeyClient } from '@portcullis/client/index.ts';
import { staleQueries } from './stale-queries.ts';
import { StaleReader } from './stale-reader.ts';

/** How often everything in view is read again: without a connection, and with one. */
const POLL_MS = 10_000;
const SLOW_POLL_MS = 120_000;

type State = 'open' | 'lost';

interface Deps {
  readonly client: Pick<KeyClient, 'events'>;
  readonly queries: QueryClient;
  onState(state: State): void;
}

/**
 * Follows what happens, and reads again what it concerns; everything after the connection was away. A hidden page
 * follows nothing: browsers open few connections to a host, which pages in the background would use up.
 */
export class LiveFeed {
  readonly #deps: Deps;
  readonly #reader: StaleReader;
  readonly #poll: ReturnType<typeof setInterval>;
  readonly #onVisibility = (): void => this.#followVisible();
  #following: AbortController | null = null;
  #isConnected = false;
  #wasConnected = false;
  #polledMs = performance.now();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#reader = new StaleReader(deps.queries);
    this.#poll = setInterval(() => this.#pollDue(), POLL_MS);
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#followVisible();
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearInterval(this.#poll);
    this.#reader.stop();
    this.#following?.abort();
  }

  #followVisible(): void {
    if (document.hidden) {
      this.#following?.abort();
      this.#following = null;
      this.#isConnected = false;
    } else if (this.#following === null) {
      this.#following = new AbortController();
      // It ends when it is aborted or the session is over; the queries say so themselves.
      this.#follow(this.#following).catch(() => {
        this.#isConnected = false;
      });
    }
  }

  async #follow({ signal }: AbortController): Promise<void> {
    const onConnection = (state: State): void => {
      if (!signal.aborted) this.#connection(state);
    };
    for await (const event of this.#deps.client.events({ signal, onConnection })) {
      this.#reader.note(staleQueries(event));
    }
  }

  #connection(state: State): void {
    this.#isConnected = state === 'open';
    // Events before the first that was received are in no resumed stream.
    if (this.#isConnected && this.#wasConnected) this.#reader.note([[]]);
    this.#wasConnected ||= this.#isConnected;
    this.#deps.onState(state);
  }

  #pollDue(): void {
    const isDue = performance.now() - this.#polledMs >= SLOW_POLL_MS;
    if (document.hidden || (this.#isConnected && !isDue)) return;
    this.#polledMs = performance.now();
    void this.#deps.queries.invalidateQueries({}, { cancelRefetch: false });
  }
}
