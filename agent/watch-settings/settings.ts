import type { Log } from '@portcullis/core/log.ts';
import { request } from '../request.ts';
import { type Coalesced, coalesce } from '@portcullis/link/coalesce.ts';
import { type AgentSide, LinkError } from '@portcullis/link/transport/transport.ts';
import {
  type CancelledAttack,
  MAX_WATCH_SCOPES,
  type WatchSettings,
} from '@portcullis/link/messages/attacks.ts';
import { type WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { HeldSettings, SettingsStore } from './store.ts';

export interface WatchSettingsOptions {
  readonly link: AgentSide;
  readonly instance: string;
  /** Null if nothing is kept across restarts. */
  readonly store: SettingsStore | null;
  readonly log: Log;
  /** Receives the scopes to count and the attacks whose mitigation is cancelled. */
  readonly changed: (scopes: readonly WatchScope[], cancelled: readonly CancelledAttack[]) => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Requests from control what to count and caches it, on disk too; the last settings hold while control is away. */
export class WatchSettingsCache {
  readonly #options: WatchSettingsOptions;
  readonly #requesting: Coalesced;
  #held: HeldSettings | null = null;
  #retryMs = FIRST_RETRY_MS;

  constructor(options: WatchSettingsOptions) {
    this.#options = options;
    this.#requesting = coalesce(() => this.#request());
  }

  /** Loads the settings from before the restart. */
  load(): void {
    const held = this.#options.store?.load() ?? null;
    if (held === null || this.#held !== null) return;
    this.#held = held;
    this.#options.changed(held.scopes, held.cancelled);
  }

  /** After a hello control may be another one. */
  greeted(): void {
    this.#retryMs = FIRST_RETRY_MS;
    this.#requesting.poke();
  }

  /** Requests the settings unless `version` is the cached one. */
  poke(version?: string): void {
    if (version !== undefined && version === this.#held?.version) return;
    this.#requesting.poke();
  }

  stop(): Promise<void> {
    return this.#requesting.stop();
  }

  async #request(): Promise<number | null> {
    const { changed, store, log } = this.#options;
    try {
      const settings = await this.#fetch();
      this.#retryMs = FIRST_RETRY_MS;
      if (settings === null) return null;
      this.#held = settings;
      log.info({ scopes: settings.scopes.length }, 'detection settings received');
      await store?.save(settings);
      changed(settings.scopes, settings.cancelled);
      return null;
    } catch (error) {
      return this.#afterFailure(error);
    }
  }

  /** After a lost connection `greeted` starts again. */
  #afterFailure(error: unknown): number | null {
    if (error instanceof LinkError && error.code !== 'timeout') return null;
    this.#options.log.warn({ error }, 'the settings of the detection could not be fetched');
    const againMs = this.#retryMs;
    this.#retryMs = Math.min(againMs * 2, LONGEST_RETRY_MS);
    return againMs;
  }

  /** Returns null if the cached settings are current. */
  async #fetch(): Promise<HeldSettings | null> {
    const first = await this.#page(null);
    if (first.scopes === null) return null;
    const scopes = [...first.scopes];
    for (let { next } = first; next !== null; ) {
      const page = await this.#page(next);
      if (page.version !== first.version) throw new Error('the settings changed between two pages');
      // Empty pages with a next page would never end.
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
    return request(
      link,
      { kind: 'detection.getSettings', instance, version, cursor },
      'watch.settings',
    );
  }
}
