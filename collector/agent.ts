import { randomUUID } from 'node:crypto';
import { RefusedByControl, request } from '@portcullis/agent/request.ts';
import { downsample } from '@portcullis/agent/samples/downsample.ts';
import { SampleSender } from '@portcullis/agent/samples/sender.ts';
import { AgentSession, type Intervals } from '@portcullis/agent/session.ts';
import { WatchSettingsCache } from '@portcullis/agent/watch-settings/settings.ts';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { Log } from '@portcullis/core/log.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { PROTOCOL_VERSION } from '@portcullis/link/messages/messages.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { ExporterSockets } from './sockets.ts';

export interface CollectorAgentOptions {
  readonly link: AgentSide;
  readonly log: Log;
}

/** How soon a listen address that is in use is tried again. */
const RETRY_MS = 5_000;
/** One in this many samples carries evidence: one a second. */
const EVIDENCE_SAMPLES = 4;

/**
 * Receives flow exports as control's settings say and sends the aggregated samples to control. It detects nothing and
 * stores nothing: without control nobody could act on its samples, and edges see their own traffic.
 */
export class CollectorAgent {
  readonly #options: CollectorAgentOptions;
  readonly #instance = randomUUID();
  readonly #sockets = new ExporterSockets((sample) => this.#send(sample));
  readonly #sender: SampleSender;
  readonly #settings: WatchSettingsCache;
  readonly #session: AgentSession;
  #nearest = new NearestScope<WatchScope>([]);
  #isNewConnection = false;
  #loggedProblem: string | null = null;
  #samples = 0;

  constructor(options: CollectorAgentOptions) {
    this.#options = options;
    const { link, log } = options;
    const instance = this.#instance;
    this.#sender = new SampleSender({ link, instance, log, nowMs: () => Date.now() });
    this.#settings = new WatchSettingsCache({
      link,
      instance,
      log,
      store: null,
      changed: (scopes) => this.#watch(scopes),
    });
    this.#session = new AgentSession({
      link,
      log,
      awayMessage: 'the connection to control is lost; flow exports are not reported',
      hello: () => this.#hello(),
      sync: async () => this.#session.pokeHeartbeat(),
      heartbeat: () => this.#report(),
      // The welcome carries the settings, so a resync is a new hello.
      resync: () => this.#session.restart(),
    });
  }

  start(): void {
    const { link, log } = this.#options;
    link.onConnect(() => (this.#isNewConnection = true));
    link.onNotice((notice) => {
      if (notice.kind === 'collectors') this.#session.restart();
      else if (notice.kind === 'watch') this.#settings.poke(notice.version);
    });
    link.onRefused((reason) => {
      this.#sockets.close();
      log.warn({ reason }, 'control refuses this collector');
    });
    this.#session.start();
  }

  async stop(): Promise<void> {
    this.#sockets.close();
    const stopped = this.#session.stop();
    await this.#options.link.close();
    await Promise.all([stopped, this.#settings.stop(), this.#sender.stop()]);
  }

  async #hello(): Promise<Intervals> {
    const { link } = this.#options;
    const hello = {
      kind: 'collector.hello',
      protocolVersion: PROTOCOL_VERSION,
      instance: this.#instance,
    } as const;
    const welcome = await request(link, hello, 'collector.welcome').catch((error: unknown) => {
      if (error instanceof RefusedByControl && error.code === 'unknown_agent')
        this.#sockets.close();
      throw error;
    });
    if (this.#isNewConnection) this.#settings.greeted();
    else this.#settings.poke();
    this.#isNewConnection = false;
    const isListening = await this.#sockets.assign(welcome.settings);
    this.#logProblem();
    const { reportMs, resyncMs } = welcome;
    return {
      heartbeatMs: reportMs,
      resyncMs: isListening ? resyncMs : Math.min(RETRY_MS, resyncMs),
    };
  }

  async #report(): Promise<void> {
    const report = this.#sockets.status();
    const message = { kind: 'collector.report', instance: this.#instance, report } as const;
    await request(this.#options.link, message, 'done');
  }

  #watch(scopes: readonly WatchScope[]): void {
    this.#nearest = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    this.#sockets.watch(scopes);
  }

  #send(sample: Sample): void {
    const thresholdsOf = (subject: string) => this.#nearest.of(subject) ?? DEFAULT_THRESHOLDS;
    const isDue = this.#samples++ % EVIDENCE_SAMPLES === 0;
    const tops = (subject: string): SubjectTops | null => {
      // Also called when no evidence is due: it marks the subject for observation.
      const known = this.#sockets.tops(subject);
      return isDue ? known : null;
    };
    this.#sender.push(downsample(sample, { thresholdsOf, tops }));
  }

  #logProblem(): void {
    const { problem, listening } = this.#sockets.status();
    if (problem === this.#loggedProblem) return;
    this.#loggedProblem = problem;
    if (problem === null) this.#options.log.info({ listening }, 'listening for flow exports');
    else this.#options.log.warn({ problem }, 'this collector does not listen');
  }
}
