import { randomUUID } from 'node:crypto';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { Log } from '@portcullis/core/log.ts';
import { ask, RefusedByControl } from '@portcullis/agent/request.ts';
import { type Coalesced, coalesce } from '@portcullis/agent/coalesce.ts';
import { PROTOCOL_VERSION } from '@portcullis/link/messages.ts';
import { type AgentSide, LinkError } from '@portcullis/link/transport.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import { SampleSender } from '@portcullis/agent/samples/sender.ts';
import { WatchSettingsKeeper } from '@portcullis/agent/watch-settings/settings.ts';
import { thin } from '@portcullis/agent/samples/downsample.ts';
import { Ear } from './sockets.ts';

export interface CollectorAgentOptions {
  readonly link: AgentSide;
  readonly log: Log;
}

const RETRY_MS = 5_000;
/** Evidence is sent once in so many buckets. */
const EVIDENCE_BUCKETS = 4;
/** Before control says otherwise. */
const FIRST_PERIODS = { reportMs: 10_000, resyncMs: 30_000 } as const;

/**
 * Listens to exporters as control says and tells it what they tell. It judges nothing and keeps nothing: while
 * control is away nobody could act on it, and edges see their own traffic.
 */
export class CollectorAgent {
  readonly #options: CollectorAgentOptions;
  readonly #instance = randomUUID();
  readonly #ear = new Ear((sample) => this.#tell(sample));
  readonly #sender: SampleSender;
  readonly #settings: WatchSettingsKeeper;
  readonly #hello: Coalesced;
  readonly #report: Coalesced;
  #nearest = new NearestScope<WatchScope>([]);
  #periods: { readonly reportMs: number; readonly resyncMs: number } = FIRST_PERIODS;
  #connected = false;
  #told: string | null = null;
  /** Samples so far. */
  #count = 0;

  constructor(options: CollectorAgentOptions) {
    this.#options = options;
    const { link, log } = options;
    const instance = this.#instance;
    this.#sender = new SampleSender({ link, instance, log, nowMs: () => Date.now() });
    this.#settings = new WatchSettingsKeeper({
      link,
      instance,
      log,
      store: null,
      changed: (scopes) => this.#watch(scopes),
    });
    this.#hello = coalesce(() => this.#sayHello());
    this.#report = coalesce(() => this.#sendReport());
  }

  start(): void {
    const { link, log } = this.#options;
    link.onConnect(() => {
      this.#connected = true;
      this.#hello.poke();
    });
    link.onNotice((notice) => {
      if (notice.kind === 'collectors') this.#hello.poke();
      else if (notice.kind === 'watch') this.#settings.poke(notice.version);
    });
    link.onRefused((reason) => {
      this.#ear.close();
      log.warn({ reason }, 'control does not let this collector in');
    });
  }

  async stop(): Promise<void> {
    this.#ear.close();
    await this.#options.link.close();
    await Promise.all([
      this.#hello.stop(),
      this.#report.stop(),
      this.#settings.stop(),
      this.#sender.stop(),
    ]);
  }

  async #sayHello(): Promise<number | null> {
    const { link, log } = this.#options;
    const instance = this.#instance;
    const protocolVersion = PROTOCOL_VERSION;
    try {
      const hello = { kind: 'collector.hello', protocolVersion, instance } as const;
      const { settings, reportMs, resyncMs } = await ask(link, hello, 'collector.welcome');
      this.#periods = { reportMs, resyncMs };
      if (this.#connected) this.#settings.greeted();
      else this.#settings.poke();
      this.#connected = false;
      const isListening = await this.#ear.assign(settings);
      this.#sayProblem();
      this.#report.poke();
      return isListening ? resyncMs : Math.min(RETRY_MS, resyncMs);
    } catch (error) {
      return this.#afterFailure(error, log);
    }
  }

  async #sendReport(): Promise<number | null> {
    const { link, log } = this.#options;
    const report = { kind: 'collector.report', instance: this.#instance } as const;
    try {
      await ask(link, { ...report, report: this.#ear.status() }, 'done');
      return this.#periods.reportMs;
    } catch (error) {
      if (error instanceof RefusedByControl && error.code === 'resync') {
        this.#hello.poke();
        return null;
      }
      return this.#afterFailure(error, log);
    }
  }

  /** A lost connection says when it is back; whoever is of no fleet listens to nobody. */
  #afterFailure(error: unknown, log: Log): number | null {
    if (error instanceof LinkError && error.code !== 'timeout') return null;
    if (error instanceof RefusedByControl && error.code === 'unknown_agent') this.#ear.close();
    log.warn({ error }, 'control did not answer as it should');
    return RETRY_MS;
  }

  #watch(scopes: readonly WatchScope[]): void {
    this.#nearest = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    this.#ear.watch(scopes);
  }

  #tell(sample: Sample): void {
    const thresholdsOf = (subject: string) => this.#nearest.of(subject) ?? DEFAULT_THRESHOLDS;
    // Asked for in every sample, so that it is looked at; sent once a second.
    const isDue = this.#count++ % EVIDENCE_BUCKETS === 0;
    const tops = (subject: string): SubjectTops | null => {
      const known = this.#ear.tops(subject);
      return isDue ? known : null;
    };
    this.#sender.push(thin(sample, { thresholdsOf, tops }));
  }

  #sayProblem(): void {
    const { problem, listening } = this.#ear.status();
    if (problem === this.#told) return;
    this.#told = problem;
    if (problem === null) this.#options.log.info({ listening }, 'listens');
    else this.#options.log.warn({ problem }, 'this collector does not listen');
  }
}
