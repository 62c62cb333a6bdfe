import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector.ts';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { describeError, type Log } from '@portcullis/link/agent-log.ts';
import type { CounterMode } from '@portcullis/link/edge-report.ts';
import type { AgentSide } from '@portcullis/link/transport.ts';
import type { WatchScope } from '@portcullis/link/watch-messages.ts';
import type { CounterSource } from '../counters/source.ts';
import { enforcedFolder } from '../state/disk.ts';
import { SampleSender } from './sender.ts';
import { WatchSettingsKeeper } from './settings.ts';
import { SettingsStore } from './settings-store.ts';
import { thin } from './thin.ts';
import { tick } from './ticks.ts';

export interface WatchOptions {
  readonly link: AgentSide;
  readonly counters: CounterSource;
  readonly stateDir: string;
  readonly log: Log;
  readonly clock?: () => Date;
  readonly periodMs?: number;
}

/** Addresses and prefixes that the edge's own detector remembers; of more it judges their prefixes only. */
const MAX_SUBJECTS = 20_000;
/** Longer than that, this process stood still: what came meanwhile tells of no rate. */
const STOOD_STILL_MS = 10_000;
/** Evidence is sent once a second. */
const EVIDENCE_TICKS = 4;
const RETRY_TICKS = 20;

/**
 * Counts traffic, tells control what it counted, and judges it itself. Beside the policies: nothing here is waited
 * for by their application, and whatever fails here fails alone.
 */
export class EdgeWatch {
  readonly #options: WatchOptions;
  #sender: SampleSender | null = null;
  #settings: WatchSettingsKeeper | null = null;
  #ticks: ReturnType<typeof tick> | null = null;
  #nearest = new NearestScope<WatchScope>([]);
  /** What the kernel does not count yet; null: it counts what is wanted. */
  #uncounted: readonly WatchScope[] | null = null;
  #detector: DetectorState = INITIAL;
  #count = 0;
  #problem: string | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** `instance`: what the agent calls itself to control. */
  start(instance: string): void {
    const { link, stateDir, log, periodMs = BUCKET_MS } = this.#options;
    this.#sender = new SampleSender({ link, instance, log, nowMs: () => this.#nowMs() });
    this.#settings = new WatchSettingsKeeper({
      link,
      instance,
      log,
      store: new SettingsStore(enforcedFolder(stateDir), log),
      changed: (scopes) => this.#watch(scopes),
    });
    this.#settings.load();
    link.onNotice((notice) => {
      if (notice.kind === 'watch') this.#settings?.poke(notice.version);
    });
    this.#ticks = tick(periodMs, () => this.#tick());
  }

  /** Control answered a hello. */
  greeted(): void {
    this.#sender?.heard();
    this.#settings?.greeted();
  }

  /** Notices may be lost. */
  resync(): void {
    this.#settings?.poke();
  }

  mode(): CounterMode {
    return this.#options.counters.mode();
  }

  problems(): string[] {
    const own = this.#problem === null ? [] : [`Traffic cannot be counted: ${this.#problem}.`];
    return [...own, ...this.#options.counters.problems()];
  }

  async stop(): Promise<void> {
    await this.#ticks?.stop();
    await Promise.all([this.#sender?.stop(), this.#settings?.stop()]);
    await this.#options.counters.close();
  }

  #watch(scopes: readonly WatchScope[]): void {
    this.#nearest = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    this.#uncounted = scopes;
  }

  /** Never rejects. */
  async #tick(): Promise<void> {
    const { counters, log } = this.#options;
    try {
      const wanted = this.#uncounted;
      if (wanted !== null && this.#count % (this.#problem === null ? 1 : RETRY_TICKS) === 0) {
        await counters.watch(wanted);
        if (this.#uncounted === wanted) this.#uncounted = null;
      }
      await this.#measure();
      if (this.#uncounted === null) this.#problem = null;
    } catch (error) {
      const why = describeError(error);
      if (this.#problem !== why) log.warn({ error }, 'traffic cannot be counted');
      this.#problem = why;
    }
    this.#count++;
  }

  async #measure(): Promise<void> {
    const { counters, log } = this.#options;
    const sample = await counters.read(this.#nowMs());
    if (sample.durationMs > STOOD_STILL_MS) return;
    const thresholdsOf = (subject: string) => this.#nearest.of(subject) ?? DEFAULT_THRESHOLDS;
    const settings = { thresholdsOf, maxSubjects: MAX_SUBJECTS };
    const { state, events } = step(this.#detector, sample, settings);
    this.#detector = state;
    for (const { kind, attack } of events) log.info({ kind, attack }, 'saw an attack');
    const tops =
      this.#count % EVIDENCE_TICKS === 0 ? (subject: string) => counters.tops(subject) : null;
    if (counters.mode() === 'none') return;
    this.#sender?.push(thin(sample, { thresholdsOf, tops }));
  }

  #nowMs(): number {
    return (this.#options.clock?.() ?? new Date()).getTime();
  }
}
