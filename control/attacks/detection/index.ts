import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import type { SampleRelay } from '@portcullis/link/transport/relay.ts';
import type { DetectionService } from '../../agents/detection-service.ts';
import type { Db } from '../../db/database.ts';
import type { ReportedAttack } from './record/plan.ts';
import { Recorder } from './record/recorder.ts';
import { forgetEnded, loadOrphans } from './record/store.ts';
import { savePeaks } from './suggestions.ts';
import { askAboutUsual } from './usual.ts';
import { createDetectionService } from './watch/agent-requests.ts';
import { createWatchEvents, type WatchEvents } from './watch/events.ts';
import { DetectionLeader, RENEWAL_MS } from './watch/leader.ts';
import { ScopeTable } from './scopes/scope-table.ts';

export { HOLDS, lockClock } from './record/store.ts';
export type { ReportedAttack } from './record/plan.ts';
export { sweepAttacks } from './retention.ts';
export { scopesOf } from './scopes/watch-scopes.ts';
export { loadSuggestions, suggestionView } from './suggestions.ts';
export {
  type AcceptedTraffic,
  acceptUsual,
  findAccepted,
  findUsual,
  forgetUsual,
} from './usual.ts';

export interface DetectionOptions {
  readonly db: Db;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Control's detector: samples of agents in, records of attacks out. */
export interface Detection {
  /** Answers agents. */
  readonly service: DetectionService;
  /** Called once the database is available. Never rejects. */
  start(hooks: DetectionHooks): Promise<void>;
  /** Called when holdings or settings changed. */
  wake(): void;
  stop(): Promise<void>;
}

export interface DetectionHooks {
  /** Called after an attack was recorded. */
  readonly onAttack: (reported: ReportedAttack) => void;
  /** The detection settings have a new version. */
  readonly onScopes: (version: string) => void;
  /** To the other replicas; null: there are none. */
  readonly relay: SampleRelay | null;
}

/** Notifications say what changed; one may be lost. */
const RELOAD_MS = 15_000;
const MINUTE_MS = 60_000;
/** The most attacks continued at a time. */
const MAX_ORPHANS = 10_000;

export function createDetection({ db, log, registry }: DetectionOptions): Detection {
  return new Watch(db, log, registry);
}

class Watch implements Detection {
  readonly service: DetectionService;
  readonly #db: Db;
  readonly #events: WatchEvents;
  readonly #scopes: ScopeTable;
  readonly #leader: DetectionLeader;
  readonly #recorder: Recorder;
  readonly #timers: NodeJS.Timeout[] = [];
  #hooks: DetectionHooks | null = null;
  #queue: Promise<void> = Promise.resolve();
  #reloads = 0;

  constructor(db: Db, log: Logger, registry: Registry) {
    this.#db = db;
    this.#events = createWatchEvents(log, registry);
    this.#scopes = new ScopeTable(db);
    const onAttack = (reported: ReportedAttack): void => this.#recorded(reported);
    const name = randomUUID();
    const events = this.#events;
    this.#recorder = new Recorder({
      db,
      name,
      onAttack,
      onChange: (change) => this.#leader.host?.follow(change),
      failed: (what, error) => events.failed(what, error),
    });
    const scopes = this.#scopes;
    const recorder = this.#recorder;
    this.#leader = new DetectionLeader({ db, name, events, scopes, recorder });
    this.service = createDetectionService({
      db,
      scopes: this.#scopes,
      leader: this.#leader,
      events,
    });
  }

  async start(hooks: DetectionHooks): Promise<void> {
    this.#hooks = hooks;
    this.#leader.relayThrough(hooks.relay);
    await this.#reload();
    await this.#leader.renew();
    await this.#resumeOrphans();
    const every = (ms: number, work: () => void): void => {
      this.#timers.push(setInterval(work, ms));
    };
    every(BUCKET_MS, () => this.#tick());
    every(RELOAD_MS, () => this.wake());
    every(
      RENEWAL_MS,
      () => void this.#enqueue('renewing the detection lease', () => this.#renew()),
    );
    every(MINUTE_MS, () => void this.#enqueue('looking after attacks', () => this.#lookAfter()));
  }

  wake(): void {
    // Notifications come in bursts.
    if (this.#reloads > 0) return;
    this.#reloads++;
    void this.#enqueue('loading detection settings', async () => {
      this.#reloads--;
      await this.#reload();
    });
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#queue;
    await this.#recorder.stop();
    try {
      await this.#leader.stop();
    } catch (error) {
      this.#events.failed('releasing the detection lease', error);
    }
  }

  async #renew(): Promise<void> {
    const hasOrphans = await this.#leader.renew();
    if (hasOrphans === true) await this.#resumeOrphans();
  }

  async #lookAfter(): Promise<void> {
    if (this.#leader.host === null) return;
    await forgetEnded(this.#db);
    await askAboutUsual(this.#db);
    await savePeaks(this.#db, this.#leader.host?.takePeaks() ?? new Map());
  }

  #tick(): void {
    try {
      this.#leader.host?.tick();
    } catch (error) {
      this.#events.failed('detecting attacks', error);
    }
  }

  async #reload(): Promise<void> {
    if (await this.#scopes.load()) this.#hooks?.onScopes(this.#scopes.version);
  }

  /** Unseen attacks continue here until they are seen or quiet for their hold time. */
  async #resumeOrphans(): Promise<void> {
    if (this.#leader.host === null) return;
    for (const orphan of await loadOrphans(this.#db, MAX_ORPHANS)) {
      this.#leader.host?.adopt(orphan, orphan.seenAt.getTime());
    }
  }

  #recorded(reported: ReportedAttack): void {
    this.#events.recorded(reported);
    this.#hooks?.onAttack(reported);
  }

  #enqueue(what: string, work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue
      .then(work)
      .catch((error: unknown) => this.#events.failed(what, error));
    return this.#queue;
  }
}
