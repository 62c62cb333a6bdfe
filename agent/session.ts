import type { Log } from '@portcullis/core/log.ts';
import { type AgentSide, LinkError } from '@portcullis/link/transport/transport.ts';
import { type Coalesced, coalesce } from '@portcullis/link/coalesce.ts';
import { RefusedByControl } from './request.ts';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
/** Until control names others in its welcome. */
const DEFAULT_INTERVALS: Intervals = { heartbeatMs: 15_000, resyncMs: 30_000 };

export interface Intervals {
  readonly heartbeatMs: number;
  readonly resyncMs: number;
}

export interface AgentSessionOptions {
  readonly link: AgentSide;
  readonly log: Log;
  /** The log line for a lost connection: what continues without control. */
  readonly awayMessage: string;
  /** Sends hello and returns the intervals of control's welcome. */
  readonly hello: () => Promise<Intervals>;
  /** Fetches what control wants of the agent. */
  readonly sync: () => Promise<void>;
  /** Sends a heartbeat. */
  readonly heartbeat: () => Promise<void>;
  /** Runs at each heartbeat interval, also without control. */
  readonly collect?: () => void;
  /** Runs at each resync interval, in addition to `sync`. */
  readonly resync?: () => void;
  /** Control asks for a whole sync: what the agent holds may come from another control plane. */
  readonly reset?: () => void;
}

/**
 * The lifecycle of an agent's session with control: hello, then sync; both again after a reconnect and after a failure,
 * with backoff; sync also at each resync interval, because a notice of control may be lost.
 */
export class AgentSession {
  readonly #options: AgentSessionOptions;
  readonly #syncing: Coalesced;
  readonly #heartbeats: Coalesced;
  #greeted = false;
  /** The number of restarts: a hello that one overtakes does not count. */
  #restarts = 0;
  /** The heartbeat under way. */
  #beating: Promise<void> = Promise.resolve();
  #retryMs = FIRST_RETRY_MS;
  #stopTimers: (() => void)[] = [];
  #stopped = false;

  constructor(options: AgentSessionOptions) {
    this.#options = options;
    this.#syncing = coalesce(() => this.#sync());
    this.#heartbeats = coalesce(() => this.#heartbeat());
  }

  /** Control has answered hello on this connection. */
  get greeted(): boolean {
    return this.#greeted;
  }

  start(): void {
    this.#options.link.onConnect(() => this.restart());
    this.#setIntervals(DEFAULT_INTERVALS);
  }

  /** Syncs, after a hello where none was answered yet. */
  poke(): void {
    this.#syncing.poke();
  }

  /** Sends a heartbeat now, if control has answered hello. */
  pokeHeartbeat(): void {
    this.#heartbeats.poke();
  }

  /** Says hello again: the connection is new, or what hello says has changed. */
  restart(): void {
    this.#restarts++;
    this.#greeted = false;
    this.#syncing.poke();
  }

  /** Logs a failed request. Returns false if only a new connection helps: it starts the session anew by itself. */
  failed(error: unknown): boolean {
    if (this.#stopped) return false;
    const { link, log, awayMessage, reset } = this.#options;
    if (error instanceof LinkError && error.code === 'disconnected') {
      log.warn({ reason: link.awayReason ?? error.message }, awayMessage);
      return false;
    }
    if (error instanceof RefusedByControl && error.code === 'resync') {
      this.#greeted = false;
      reset?.();
      log.info({ detail: error.message }, 'control asks for a whole sync');
    } else {
      log.warn({ error }, 'a request to control failed');
    }
    return true;
  }

  /** Starts no further request, and resolves when the current ones have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#setIntervals(null);
    await Promise.all([this.#syncing.stop(), this.#heartbeats.stop()]);
  }

  async #sync(): Promise<number | null> {
    const { hello, sync } = this.#options;
    try {
      if (!this.#greeted) {
        // A heartbeat carries what hello does: an old one must not arrive after it.
        await this.#beating;
        const restarts = this.#restarts;
        const intervals = await hello();
        // What hello says has changed meanwhile, so the next run says it again.
        if (restarts !== this.#restarts) return null;
        this.#greeted = true;
        this.#setIntervals(intervals);
      }
      await sync();
      this.#retryMs = FIRST_RETRY_MS;
      return null;
    } catch (error) {
      if (!this.failed(error)) return null;
      const retryMs = this.#retryMs;
      this.#retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
      return retryMs;
    }
  }

  async #heartbeat(): Promise<null> {
    if (!this.#greeted) return null;
    try {
      const beat = this.#options.heartbeat();
      this.#beating = beat.catch(() => {});
      await beat;
    } catch (error) {
      if (this.failed(error) && !this.#greeted) this.#syncing.poke();
    }
    return null;
  }

  #setIntervals(intervals: Intervals | null): void {
    for (const stop of this.#stopTimers) stop();
    this.#stopTimers = [];
    if (this.#stopped || intervals === null) return;
    const { collect, resync } = this.#options;
    this.#stopTimers = [
      everySpread(intervals.heartbeatMs, () => {
        collect?.();
        this.#heartbeats.poke();
      }),
      everySpread(intervals.resyncMs, () => {
        this.#syncing.poke();
        resync?.();
      }),
    ];
  }
}

/**
 * Runs at an interval, the first time after a random part of it: the agents of a fleet begin together when control comes
 * back, and would come together for ever. Returns a function that stops it.
 */
function everySpread(ms: number, run: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setInterval(run, ms);
    run();
  }, Math.random() * ms);
  return () => clearTimeout(timer);
}
