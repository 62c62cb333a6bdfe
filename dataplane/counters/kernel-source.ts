import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import { describeError } from '@portcullis/core/log.ts';
import type { CounterMode } from '@portcullis/core/firewall/edge-state.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import type { CounterDriver } from './driver.ts';
import { Following } from './following.ts';
import type { CounterSource } from './source.ts';

/** A part of the kernel that can count. */
export interface CounterPlace {
  readonly mode: Exclude<CounterMode, 'none'>;
  /** Counts whatever enters by these devices (at least one), the same one each time; null: it cannot now. */
  driver(devices: readonly string[]): CounterDriver | null;
  /** Takes away what an agent that was killed may have left; before `driver`. */
  discard?(): Promise<void>;
}

/** After the kernel refused. */
const PAUSE_MS = 5_000;

interface Chosen {
  readonly place: CounterPlace;
  readonly driver: CounterDriver;
  readonly following: Following;
}

/** Counts in the first of these places that is available. */
export class KernelCounterSource implements CounterSource {
  readonly #places: readonly CounterPlace[];
  readonly #nowMs: () => number;
  #scopes: readonly WatchScope[] = [];
  #devices: readonly string[] = [];
  /** Nothing is tried again before. */
  #pausedUntilMs = 0;
  #isClean = false;
  #chosen: Chosen | null = null;
  #readMs: number;
  #problem: string | null = null;

  /** `nowMs`: of a clock that does not jump. */
  constructor(places: readonly CounterPlace[], nowMs: () => number = () => performance.now()) {
    this.#places = places;
    this.#nowMs = nowMs;
    this.#readMs = nowMs();
  }

  async watch(scopes: readonly WatchScope[]): Promise<void> {
    this.#scopes = scopes;
    if (!(await this.#choose())) await this.#chosen?.following.watch(scopes);
  }

  enter(devices: readonly string[]): void {
    this.#devices = devices;
  }

  async read(atMs: number): Promise<Sample> {
    await this.#choose();
    let durationMs = BUCKET_MS;
    const pass = (): number => {
      const nowMs = this.#nowMs();
      durationMs = Math.max(1, nowMs - this.#readMs);
      this.#readMs = nowMs;
      return durationMs / 1000;
    };
    const subjects = await this.#chosen?.following.read(pass, this.#nowMs());
    if (subjects === undefined) pass();
    return {
      atMs,
      durationMs,
      addresses: subjects?.addresses ?? [],
      prefixes: subjects?.prefixes ?? [],
    };
  }

  tops(subject: string): SubjectTops | null {
    return this.#chosen?.following.tops(subject, this.#nowMs()) ?? null;
  }

  mode(): CounterMode {
    return this.#chosen?.place.mode ?? 'none';
  }

  problems(): readonly string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  async close(): Promise<void> {
    const { following } = this.#chosen ?? {};
    this.#chosen = null;
    // A driver that is gone counts nothing any more.
    await following?.stop().catch(() => {});
  }

  /** Whether another place counts now. */
  async #choose(): Promise<boolean> {
    await this.#discard();
    const next = this.#firstAble();
    if (next?.driver === this.#chosen?.driver) return false;
    if (next !== null && this.#nowMs() < this.#pausedUntilMs) return true;
    await this.close();
    if (next === null) return true;
    const { place, driver } = next;
    const following = new Following(driver);
    try {
      await following.watch(this.#scopes);
      this.#chosen = { place, driver, following };
      this.#problem = null;
      this.#readMs = this.#nowMs();
    } catch (error) {
      this.#pausedUntilMs = this.#nowMs() + PAUSE_MS;
      this.#problem = `Traffic cannot be counted by ${place.mode}: ${describeError(error)}.`;
      throw error;
    }
    return true;
  }

  async #discard(): Promise<void> {
    if (this.#isClean) return;
    this.#isClean = true;
    // Who may not take it away may not count there either, and says so then.
    for (const place of this.#places) await place.discard?.().catch(() => {});
  }

  #firstAble(): Pick<Chosen, 'place' | 'driver'> | null {
    if (this.#devices.length === 0) return null;
    for (const place of this.#places) {
      const driver = place.driver(this.#devices);
      if (driver !== null) return { place, driver };
    }
    return null;
  }
}
