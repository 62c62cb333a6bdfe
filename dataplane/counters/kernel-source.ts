import { describeKernelError } from '../kernel/describe-error.ts';
import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import type { CounterMode } from '@portcullis/core/firewall/edge-state.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { ConnectionCounters } from './connections/connections.ts';
import type { CounterDriver } from './driver.ts';
import { SubjectCounting } from './subject-counting.ts';
import type { CounterSource } from './source.ts';
import type { EarlyDrop } from '../xdp/early-drop.ts';
import { NftCounters, type NftCountersOptions } from './nftables/driver.ts';

/** A part of the kernel that can count. */
export interface CounterBackend {
  readonly mode: Exclude<CounterMode, 'none'>;
  /**
   * Counts packets that enter by these devices, at least one. Returns the same driver each time, or null if it cannot
   * count now.
   */
  driver(devices: readonly string[]): CounterDriver | null;
  /** Removes what a killed agent may have left. Called before `driver`. */
  discard?(): Promise<void>;
}

/** The pause after the kernel refused. */
const PAUSE_MS = 5_000;

interface Chosen {
  readonly backend: CounterBackend;
  readonly driver: CounterDriver;
  readonly counting: SubjectCounting;
}

/** Counts in the first backend that is available. */
export class KernelCounterSource implements CounterSource {
  readonly #backends: readonly CounterBackend[];
  readonly #connections: ConnectionCounters | null;
  readonly #nowMs: () => number;
  #scopes: readonly WatchScope[] = [];
  #devices: readonly string[] = [];
  /** No retry before this time. */
  #pausedUntilMs = 0;
  #isClean = false;
  #chosen: Chosen | null = null;
  #readMs: number;
  #problem: string | null = null;

  /** `nowMs`: a monotonic clock. */
  constructor(
    backends: readonly CounterBackend[],
    nowMs: () => number = () => performance.now(),
    connections: ConnectionCounters | null = null,
  ) {
    this.#backends = backends;
    this.#connections = connections;
    this.#nowMs = nowMs;
    this.#readMs = nowMs();
  }

  async watch(scopes: readonly WatchScope[]): Promise<void> {
    this.#scopes = scopes;
    if (!(await this.#choose())) await this.#chosen?.counting.watch(scopes);
  }

  enter(devices: readonly string[], tracks: boolean): void {
    this.#devices = devices;
    this.#connections?.enter(tracks ? devices : []);
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
    const subjects = await this.#chosen?.counting.read(pass, this.#nowMs());
    if (subjects === undefined) pass();
    return {
      atMs,
      durationMs,
      addresses: subjects?.addresses ?? [],
      prefixes: subjects?.prefixes ?? [],
    };
  }

  tops(subject: string): SubjectTops | null {
    return this.#chosen?.counting.tops(subject, this.#nowMs()) ?? null;
  }

  forgetTops(subject: string): void {
    this.#chosen?.counting.forgetTops(subject);
  }

  mode(): CounterMode {
    return this.#chosen?.backend.mode ?? 'none';
  }

  problems(): readonly string[] {
    const own = this.#problem === null ? [] : [this.#problem];
    return [...own, ...(this.#connections?.problems() ?? [])];
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.#connections?.close();
  }

  async #stop(): Promise<void> {
    const { counting } = this.#chosen ?? {};
    this.#chosen = null;
    // The driver may be gone already.
    await counting?.stop().catch(() => {});
  }

  /** Returns whether the backend changed. */
  async #choose(): Promise<boolean> {
    await this.#discard();
    const next = this.#firstAvailable();
    if (next?.driver === this.#chosen?.driver) return false;
    if (next !== null && this.#nowMs() < this.#pausedUntilMs) return true;
    await this.#stop();
    if (next === null) return true;
    const { backend, driver } = next;
    const counting = new SubjectCounting(driver, this.#connections);
    try {
      await counting.watch(this.#scopes);
      this.#chosen = { backend, driver, counting };
      this.#problem = null;
      this.#readMs = this.#nowMs();
    } catch (error) {
      this.#pausedUntilMs = this.#nowMs() + PAUSE_MS;
      this.#problem = `Traffic cannot be counted by ${backend.mode}: ${describeKernelError(error)}.`;
      throw error;
    }
    return true;
  }

  async #discard(): Promise<void> {
    if (this.#isClean) return;
    this.#isClean = true;
    // Without the right to remove it, counting fails too and reports the problem.
    for (const backend of this.#backends) await backend.discard?.().catch(() => {});
  }

  #firstAvailable(): Pick<Chosen, 'backend' | 'driver'> | null {
    if (this.#devices.length === 0) return null;
    for (const backend of this.#backends) {
      const driver = backend.driver(this.#devices);
      if (driver !== null) return { backend, driver };
    }
    return null;
  }
}

/** Available if XDP programs are attached to every device of the edge. They see packets before anything drops them. */
export function xdpBackend(earlyDrop: EarlyDrop): CounterBackend {
  return { mode: 'xdp', driver: () => earlyDrop.counters() };
}

/** The fallback. It does not see packets that XDP programs drop on some of the devices. */
export function nftablesBackend(options: NftCountersOptions): CounterBackend {
  const counters = new NftCounters(options);
  return {
    mode: 'nftables',
    driver: (devices) => {
      counters.enter(devices);
      return counters;
    },
    discard: () => counters.discard(),
  };
}
