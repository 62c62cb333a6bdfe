import { describeKernelError } from '@portcullis/dataplane/kernel/describe-error.ts';
import { type AttackEvent, DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import { ongoingIn } from '@portcullis/core/attacks/detector/resume.ts';
import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { CounterMode } from '@portcullis/core/firewall/edge-state.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { CancelledAttack } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { CounterSource } from '@portcullis/dataplane/counters/source.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { enforcedFolder } from '../state/disk.ts';
import { AutonomousDetection } from './autonomous-detection.ts';
import { SampleSender } from '@portcullis/agent/samples/sender.ts';
import { WatchSettingsCache } from '@portcullis/agent/watch-settings/settings.ts';
import { SettingsStore } from '@portcullis/agent/watch-settings/store.ts';
import { downsample } from '@portcullis/agent/samples/downsample.ts';
import { tick } from './ticks.ts';

export interface WatchOptions {
  readonly link: AgentSide;
  readonly counters: CounterSource;
  readonly stateDir: string;
  readonly log: Log;
  /** Called with the protected networks. */
  readonly onHeld?: (networks: readonly string[]) => void;
  readonly clock?: () => Date;
  readonly periodMs?: number;
  /** Control counts as away after this time without an answer. */
  readonly awayMs?: number;
}

/** The agent that the detection belongs to. */
export interface DetectingAgent {
  /** The instance id that the agent sends to control. */
  readonly instance: string;
  /** The overlay changed: the policies must be applied. */
  readonly changed: () => void;
}

/**
 * The most subjects that the edge's own detector tracks; beyond that only prefixes. This number of attacked subjects
 * costs about 150 ms of CPU per bucket, in which nothing else of the agent runs.
 */
const MAX_SUBJECTS = 4_096;
/** After a longer gap this process was suspended, and the counts give no rate. */
const SUSPENDED_MS = 10_000;
/** Evidence is sent once a second. */
const EVIDENCE_TICKS = 4;
const RETRY_TICKS = 20;
/** An address that the Internet reaches receives something within this time. */
const UNUSED_MS = 300_000;
const UNUSED =
  'No packet to an address that it protects has come in by its devices since it started: are these the devices that the addresses are reached by?';
/** The most log lines for one bucket. */
const MAX_LINES = 20;
const AWAY_MS = 3_000;
/** Applying a million rules keeps this process from running, and from being answered, for seconds. */
const PAUSE_MS = 1_000;

/**
 * Counts traffic, sends the counts to control, and runs the detector itself; while control is away, it also mitigates.
 * Independent of policies: applying them never waits for anything here, and a failure here stays here.
 */
export class EdgeWatch {
  readonly #options: WatchOptions;
  #sender: SampleSender | null = null;
  #settings: WatchSettingsCache | null = null;
  #autonomous: AutonomousDetection | null = null;
  #ticks: ReturnType<typeof tick> | null = null;
  #nearest = new NearestScope<WatchScope>([]);
  #held: readonly string[] = [];
  #cancelled: readonly CancelledAttack[] = [];
  /** Scopes that the kernel does not count yet. Null if it counts all. */
  #uncounted: readonly WatchScope[] | null = null;
  #detector: DetectorState = INITIAL;
  #count = 0;
  /** How long counting has seen no packet to a protected address. Null once it has seen one. */
  #unusedMs: number | null = 0;
  /** Since when control has been answering. Null while it is away. */
  #answeringSinceMs: number | null = performance.now();
  #problem: string | null = null;
  #tickedAtMs = performance.now();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  start({ instance, changed }: DetectingAgent): void {
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
    this.#autonomous = new AutonomousDetection({
      ...common,
      folder,
      changed,
      tops: (subject) => counters.tops(subject),
      scopeOf: (subject) => this.#nearest.of(subject),
      held: () => this.#held,
      cancelled: () => this.#cancelled,
    });
    link.onNotice((notice) => {
      if (notice.kind === 'watch') this.#settings?.poke(notice.version);
    });
    this.#ticks = tick(periodMs, () => this.#tick());
  }

  /** Control has answered a hello. */
  greeted(): void {
    this.#sender?.noteReply();
    this.#settings?.greeted();
  }

  /** Sets the devices to count on. With none, nothing is counted. `tracks`: conntrack sees both directions. */
  enter(devices: readonly string[], tracks: boolean): void {
    this.#options.counters.enter(devices, tracks);
  }

  /** Requests the settings: a notice may have been lost. */
  resync(): void {
    this.#settings?.poke();
  }

  /** Adds this edge's autonomous mitigations to the desired state. */
  addOverlay(desired: Desired): Desired {
    return this.#autonomous?.addOverlay(desired) ?? desired;
  }

  /** The kernel has the last result of `addOverlay`, except for the refused targets. */
  applied(refused: Iterable<string>): void {
    this.#autonomous?.applied(new Set(refused), this.#nowMs());
  }

  mode(): CounterMode {
    return this.#options.counters.mode();
  }

  problems(): string[] {
    const own = this.#problem === null ? [] : [`Traffic cannot be counted: ${this.#problem}.`];
    const unused = (this.#unusedMs ?? 0) < UNUSED_MS ? [] : [UNUSED];
    return [
      ...own,
      ...unused,
      ...this.#options.counters.problems(),
      ...(this.#autonomous?.problems() ?? []),
    ];
  }

  async stop(): Promise<void> {
    await this.#ticks?.stop();
    await Promise.all([this.#sender?.stop(), this.#settings?.stop()]);
    await this.#autonomous?.stop();
    await this.#options.counters.close();
  }

  #watch(scopes: readonly WatchScope[], cancelled: readonly CancelledAttack[]): void {
    this.#cancelled = cancelled;
    this.#nearest = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    this.#held = scopes.filter(({ subject }) => subject).map(({ scope }) => scope);
    this.#uncounted = scopes;
    this.#options.onHeld?.(this.#held);
  }

  /** Never rejects. */
  async #tick(): Promise<void> {
    const { counters, log } = this.#options;
    const pausedMs = performance.now() - this.#tickedAtMs;
    this.#tickedAtMs += pausedMs;
    if (pausedMs > PAUSE_MS) this.#sender?.excuse(pausedMs);
    try {
      const wanted = this.#uncounted;
      if (wanted !== null && this.#count % (this.#problem === null ? 1 : RETRY_TICKS) === 0) {
        await counters.watch(wanted);
        if (this.#uncounted === wanted) this.#uncounted = null;
      }
      await this.#measure();
      if (this.#uncounted === null) this.#problem = null;
    } catch (error) {
      const why = describeKernelError(error);
      if (this.#problem !== why) log.warn({ error }, 'traffic cannot be counted');
      this.#problem = why;
    }
    this.#count++;
  }

  async #measure(): Promise<void> {
    const { counters } = this.#options;
    const sample = await counters.read(this.#nowMs());
    if (sample.durationMs > SUSPENDED_MS) return;
    this.#noteUse(sample);
    const thresholdsOf = (subject: string) => this.#nearest.of(subject) ?? DEFAULT_THRESHOLDS;
    const settings = { thresholdsOf, maxSubjects: MAX_SUBJECTS };
    const { state, events } = step(this.#detector, sample, settings);
    this.#detector = state;
    this.#logEvents(events);
    for (const { kind, attack } of events) {
      if (kind === 'continued') counters.forgetTops(attack.subject);
    }
    const tops =
      this.#count % EVIDENCE_TICKS === 0 ? (subject: string) => counters.tops(subject) : null;
    this.#sender?.push(downsample(sample, { thresholdsOf, tops }));
    const controlMs = this.#controlMs();
    const isSilent = controlMs === null || this.#sender?.answers === false;
    const silentSinceMs = isSilent ? this.#nowMs() - (this.#sender?.silentMs ?? 0) : null;
    await this.#autonomous?.step(sample, ongoingIn(state), events, { controlMs, silentSinceMs });
  }

  #noteUse({ addresses, prefixes, durationMs }: Sample): void {
    if (addresses.length > 0 || prefixes.length > 0) this.#unusedMs = null;
    const counts = this.#held.length > 0 && this.#options.counters.mode() !== 'none';
    if (this.#unusedMs !== null && counts) this.#unusedMs += durationMs;
  }

  #logEvents(events: readonly AttackEvent[]): void {
    const { log } = this.#options;
    const news = events.filter(({ kind }) => kind !== 'changed');
    for (const { kind, attack } of news.slice(0, MAX_LINES)) {
      const { id, type, peakPps, peakBps } = attack;
      log.info({ kind, id, type, pps: peakPps.value, bps: peakBps.value }, 'detected an attack');
    }
    if (news.length > MAX_LINES) log.info({ events: news.length }, 'detected many attacks at once');
  }

  /** How long control has been answering. Null while it is away. */
  #controlMs(): number | null {
    const { awayMs = AWAY_MS, link, log } = this.#options;
    const isPresent = (this.#sender?.silentMs ?? 0) <= awayMs;
    const wasPresent = this.#answeringSinceMs !== null;
    if (!isPresent) this.#answeringSinceMs = null;
    else this.#answeringSinceMs ??= performance.now();
    if (isPresent !== wasPresent) {
      if (isPresent) log.info({}, 'control is back');
      else
        log.info(
          { reason: link.awayReason },
          'control is away: this edge mitigates attacks by itself',
        );
    }
    return this.#answeringSinceMs === null ? null : performance.now() - this.#answeringSinceMs;
  }

  #nowMs(): number {
    return (this.#options.clock?.() ?? new Date()).getTime();
  }
}
