import { type AttackEvent, DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector.ts';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import type { CounterMode } from '@portcullis/core/firewall/edge-state.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { CancelledAttack } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import type { CounterSource } from '@portcullis/dataplane/counters/source.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { enforcedFolder } from '../state/disk.ts';
import { LoneWatch } from './autonomous-detection.ts';
import { SampleSender } from '@portcullis/agent/samples/sender.ts';
import { WatchSettingsCache } from '@portcullis/agent/watch-settings/settings.ts';
import { SettingsStore } from '@portcullis/agent/watch-settings/store.ts';
import { AttackTeller } from './attack-reporter.ts';
import { downsample } from '@portcullis/agent/samples/downsample.ts';
import { tick } from './ticks.ts';

export interface WatchOptions {
  readonly link: AgentSide;
  readonly counters: CounterSource;
  readonly stateDir: string;
  readonly log: Log;
  readonly clock?: () => Date;
  readonly periodMs?: number;
  /** Control that did not answer for so long is away. */
  readonly awayMs?: number;
}

/** What watching needs of the agent around it. */
export interface WatchedAgent {
  /** What the agent calls itself to control. */
  readonly instance: string;
  /** What `put` answers is another now: apply it. */
  readonly changed: () => void;
}

/**
 * Addresses and prefixes that the edge's own detector remembers; of more it judges their prefixes only. So many that
 * are attacked at once cost about 150 ms a bucket, in which nothing else of the agent runs.
 */
const MAX_SUBJECTS = 4_096;
/** Longer than that, this process stood still: what came meanwhile tells of no rate. */
const STOOD_STILL_MS = 10_000;
/** Evidence is sent once a second. */
const EVIDENCE_TICKS = 4;
const RETRY_TICKS = 20;
/** Of the log, for one bucket. */
const MAX_LINES = 20;
const AWAY_MS = 3_000;

/**
 * Counts traffic, tells control what it counted, and judges it itself: where control is away, it acts too. Beside the policies: nothing here is waited
 * for by their application, and whatever fails here fails alone.
 */
export class EdgeWatch {
  readonly #options: WatchOptions;
  #sender: SampleSender | null = null;
  #settings: WatchSettingsCache | null = null;
  #lone: LoneWatch | null = null;
  #teller: AttackTeller | null = null;
  #ticks: ReturnType<typeof tick> | null = null;
  #nearest = new NearestScope<WatchScope>([]);
  #held: readonly string[] = [];
  #cancelled: readonly CancelledAttack[] = [];
  /** What the kernel does not count yet; null: it counts what is wanted. */
  #uncounted: readonly WatchScope[] | null = null;
  #detector: DetectorState = INITIAL;
  #count = 0;
  /** Since when control has been answering; null: it is away. */
  #thereSinceMs: number | null = performance.now();
  #problem: string | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  start({ instance, changed }: WatchedAgent): void {
    const { link, stateDir, log, counters, periodMs = BUCKET_MS } = this.#options;
    const folder = enforcedFolder(stateDir);
    const common = { link, instance, log, nowMs: () => this.#nowMs() };
    this.#sender = new SampleSender(common);
    this.#settings = new WatchSettingsCache({
      ...common,
      store: new SettingsStore(folder, log),
      changed: (scopes, cancelled) => this.#watch(scopes, cancelled),
    });
    this.#settings.load();
    const lone = new LoneWatch({
      folder,
      log,
      changed,
      tops: (subject) => counters.tops(subject),
      scopeOf: (subject) => this.#nearest.of(subject),
      held: () => this.#held,
      cancelled: () => this.#cancelled,
    });
    this.#lone = lone;
    this.#teller = new AttackTeller({ ...common, told: (attacks) => lone.told(attacks) });
    link.onNotice((notice) => {
      if (notice.kind === 'watch') this.#settings?.poke(notice.version);
    });
    this.#ticks = tick(periodMs, () => this.#tick());
  }

  /** Control answered a hello. */
  greeted(): void {
    this.#sender?.heard();
    this.#settings?.greeted();
    this.#teller?.greeted();
  }

  /** Packets enter by these; none: nobody may look at them. */
  enter(devices: readonly string[]): void {
    this.#options.counters.enter(devices);
  }

  /** Notices may be lost. */
  resync(): void {
    this.#settings?.poke();
  }

  /** What is desired, with what this edge does alone. */
  put(desired: Desired): Desired {
    return this.#lone?.put(desired) ?? desired;
  }

  /** The kernel has what `put` answered last, but for the refused targets. */
  applied(refused: Iterable<string>): void {
    this.#lone?.applied(new Set(refused), this.#nowMs());
  }

  mode(): CounterMode {
    return this.#options.counters.mode();
  }

  problems(): string[] {
    const own = this.#problem === null ? [] : [`Traffic cannot be counted: ${this.#problem}.`];
    return [...own, ...this.#options.counters.problems(), ...(this.#lone?.problems() ?? [])];
  }

  async stop(): Promise<void> {
    await this.#ticks?.stop();
    await Promise.all([this.#sender?.stop(), this.#settings?.stop()]);
    await Promise.all([this.#teller?.stop(), this.#lone?.stop()]);
    await this.#options.counters.close();
  }

  #watch(scopes: readonly WatchScope[], cancelled: readonly CancelledAttack[]): void {
    this.#cancelled = cancelled;
    this.#nearest = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    this.#held = scopes.filter(({ subject }) => subject).map(({ scope }) => scope);
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
    const { counters } = this.#options;
    const sample = await counters.read(this.#nowMs());
    if (sample.durationMs > STOOD_STILL_MS) return;
    const thresholdsOf = (subject: string) => this.#nearest.of(subject) ?? DEFAULT_THRESHOLDS;
    const settings = { thresholdsOf, maxSubjects: MAX_SUBJECTS };
    const { state, events } = step(this.#detector, sample, settings);
    this.#detector = state;
    this.#say(events);
    const tops =
      this.#count % EVIDENCE_TICKS === 0 ? (subject: string) => counters.tops(subject) : null;
    this.#sender?.push(downsample(sample, { thresholdsOf, tops }));
    const controlMs = this.#lookForControl();
    const unheardAtMs = this.#sender?.takeUnheard() ?? null;
    await this.#lone?.step(sample, events, { controlMs, unheardAtMs });
    // Told before it arrives, an attack would be told as it was then.
    const listens = controlMs !== null && this.#sender?.answers === true;
    if (listens && this.#teller?.ready === true) {
      this.#teller.tell(this.#lone?.untold() ?? []);
    }
  }

  #say(events: readonly AttackEvent[]): void {
    const { log } = this.#options;
    const news = events.filter(({ kind }) => kind !== 'changed');
    for (const { kind, attack } of news.slice(0, MAX_LINES)) {
      const { id, type, peakPps, peakBps } = attack;
      log.info({ kind, id, type, pps: peakPps.value, bps: peakBps.value }, 'saw an attack');
    }
    if (news.length > MAX_LINES) log.info({ events: news.length }, 'saw many attacks at once');
  }

  /** For how long control has been answering; null: it is away. */
  #lookForControl(): number | null {
    const { awayMs = AWAY_MS, log } = this.#options;
    const isThere = (this.#sender?.silentMs ?? 0) <= awayMs;
    const wasThere = this.#thereSinceMs !== null;
    if (!isThere) this.#thereSinceMs = null;
    else this.#thereSinceMs ??= performance.now();
    if (isThere !== wasThere) {
      log.info({}, isThere ? 'control is back' : 'control is away: attacks are mitigated alone');
    }
    return this.#thereSinceMs === null ? null : performance.now() - this.#thereSinceMs;
  }

  #nowMs(): number {
    return (this.#options.clock?.() ?? new Date()).getTime();
  }
}
