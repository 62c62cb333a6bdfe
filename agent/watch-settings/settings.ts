import type { Log } from '@portcullis/core/log.ts';
import { RefusedByControl, request } from '../request.ts';
import { type Coalesced, coalesce } from '../coalesce.ts';
import { type AgentSide, LinkError } from '@portcullis/link/transport/transport.ts';
import {
  type CancelledAttack,
  MAX_WATCH_SCOPES,
  type WatchSettings,
} from '@portcullis/link/messages/attacks.ts';
import { type WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import type { HeldSettings, SettingsStore } from './store.ts';

export interface WatchSettingsOptions {
  readonly link: AgentSide;
  readonly instance: string;
  /** Null: nothing is kept over a restart. */
  readonly store: SettingsStore | null;
  readonly log: Log;
  /** These are to be watched now, and nothing is to be done against these attacks. */
  readonly changed: (scopes: readonly WatchScope[], cancelled: readonly CancelledAttack[]) => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** What control wants watched: asked for, kept, and what it was until control says otherwise. */
export class WatchSettingsCache {
  readonly #options: WatchSettingsOptions;
  readonly #asking: Coalesced;
  #held: HeldSettings | null = null;
  /** Where control does not know of this: as of its last hello. */
  #unwanted = false;
  #retryMs = FIRST_RETRY_MS;

  constructor(options: WatchSettingsOptions) {
    this.#options = options;
    this.#asking = coalesce(() => this.#request());
  }

  /** What was watched before the restart. */
  load(): void {
    const held = this.#options.store?.load() ?? null;
    if (held === null || this.#held !== null) return;
    this.#held = held;
    this.#options.changed(held.scopes, held.cancelled);
  }

  /** Control may be another one now. */
  greeted(): void {
    this.#unwanted = false;
    this.#retryMs = FIRST_RETRY_MS;
    this.#asking.poke();
  }

  /** Something may have changed. */
  poke(version?: string): void {
    if (this.#unwanted || (version !== undefined && version === this.#held?.version)) return;
    this.#asking.poke();
  }

  stop(): Promise<void> {
    return this.#asking.stop();
  }

  async #request(): Promise<number | null> {
    const { changed, store, log } = this.#options;
    try {
      const settings = await this.#fetch();
      this.#retryMs = FIRST_RETRY_MS;
      if (settings === null) return null;
      this.#held = settings;
      log.info({ scopes: settings.scopes.length }, 'watches for attacks');
      await store?.save(settings);
      changed(settings.scopes, settings.cancelled);
      return null;
    } catch (error) {
      return this.#afterFailure(error);
    }
  }

  /** A lost connection is told when it is back: `greeted`. */
  #afterFailure(error: unknown): number | null {
    if (error instanceof RefusedByControl && error.code === 'unsupported') {
      this.#unwanted = true;
      return null;
    }
    if (error instanceof LinkError && error.code !== 'timeout') return null;
    this.#options.log.warn({ error }, 'what is to be watched is not known');
    const againMs = this.#retryMs;
    this.#retryMs = Math.min(againMs * 2, LONGEST_RETRY_MS);
    return againMs;
  }

  /** Null: what is held is current. */
  async #fetch(): Promise<HeldSettings | null> {
    const first = await this.#page(null);
    if (first.scopes === null) return null;
    const scopes = [...first.scopes];
    for (let { next } = first; next !== null; ) {
      const page = await this.#page(next);
      if (page.version !== first.version) throw new Error('it changes while it is told');
      // One without scopes that names another would never end.
      if (page.scopes === null || page.scopes.length === 0) throw new Error('a page is empty');
      for (const scope of page.scopes) scopes.push(scope);
      if (scopes.length > MAX_WATCH_SCOPES) throw new Error(`more than ${MAX_WATCH_SCOPES} scopes`);
      ({ next } = page);
    }
    return { version: first.version, scopes, cancelled: first.cancelled ?? [] };
  }

  #page(cursor: string | null): Promise<WatchSettings> {
    const { link, instance } = this.#options;
    const version = this.#held?.version ?? null;
    return request(link, { kind: 'watch.ask', instance, version, cursor }, 'watch.settings');
  }
}
