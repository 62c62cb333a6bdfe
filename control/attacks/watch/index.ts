import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import type { DetectionService } from '../../fleet/index.ts';
import type { Db } from '../../db/database.ts';
import type { ReportedAttack } from '../mitigations/facts.ts';
import { Recorder } from '../record/recorder.ts';
import { forgetEnded, loadOrphans } from '../record/store.ts';
import { createDetectionService } from './agent-requests.ts';
import { createWatchEvents, type WatchEvents } from './events.ts';
import { DetectorHost } from './detector-host.ts';
import { DetectionLeader } from './leader.ts';
import { ScopeTable } from './scopes.ts';

export interface WatchOptions {
  readonly db: Db;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Control's detector: samples of agents in, records of attacks out. */
export interface Watching {
  readonly desk: DetectionService;
  /** Called once the database is available. Never rejects. */
  start(hooks: WatchHooks): Promise<void>;
  /** Called when holdings or settings changed. */
  wake(): void;
  /** Other replicas may have forwarded samples. */
  relayed(): void;
  stop(): Promise<void>;
}

export interface WatchHooks {
  /** Called after an attack was recorded. */
  readonly onAttack: (heard: ReportedAttack) => void;
  /** The detection settings have a new version. */
  readonly onScopes: (version: string) => void;
}

/** Holdings begin and end without a write, and notifications may be lost. */
const RELOAD_MS = 5_000;
const ORPHANS_MS = 1_000;
const JUDGE_MS = 500;
const RELAY_MS = 1_000;
const FORGET_MS = 60_000;
/** The most attacks continued at a time. */
const MAX_ORPHANS = 10_000;

export function createWatching({ db, log, registry }: WatchOptions): Watching {
  return new Watch(db, log, registry);
}

class Watch implements Watching {
  readonly desk: DetectionService;
  readonly #db: Db;
  readonly #events: WatchEvents;
  readonly #scopes: ScopeTable;
  readonly #judge: DetectionLeader;
  readonly #recorder: Recorder;
  readonly #timers: NodeJS.Timeout[] = [];
  #hooks: WatchHooks | null = null;
  #turn: Promise<void> = Promise.resolve();
  #reloads = 0;
  #isRelayed = false;
  #taking: Promise<void> | null = null;

  constructor(db: Db, log: Logger, registry: Registry) {
    this.#db = db;
    this.#events = createWatchEvents(log, registry);
    this.#scopes = new ScopeTable(db);
    const onAttack = (heard: ReportedAttack): void => this.#tell(heard);
    const name = randomUUID();
    const events = this.#events;
    this.#recorder = new Recorder({
      db,
      name,
      onAttack,
      topsOf: (subject) => this.#judge.host?.trails.topsOf(subject) ?? null,
      detector: {
        handOver: (subject, sinceMs) => this.#judge.host?.handOver(subject, sinceMs) ?? null,
        goOn: (kept) => this.#judge.host?.goOn(kept) ?? null,
      },
      failed: (what, error) => events.failed(what, error),
    });
    this.#judge = new DetectionLeader({
      db,
      name,
      events,
      siteOf: (from) => this.#scopes.agents.of(from)?.site ?? null,
      createHost: () =>
        new DetectorHost({
          scopes: this.#scopes,
          note: (seen) => this.#recorder.note(seen),
          noteEvidence: (subject, evidence) => this.#recorder.noteEvidence(subject, evidence),
        }),
    });
    this.desk = createDetectionService({
      db,
      scopes: this.#scopes,
      judge: this.#judge,
      events,
    });
  }

  async start(hooks: WatchHooks): Promise<void> {
    this.#hooks = hooks;
    await this.#reload();
    await this.#judge.renew();
    await this.#takeUp();
    const every = (ms: number, work: () => void): void => {
      this.#timers.push(setInterval(work, ms));
    };
    every(BUCKET_MS, () => this.#tick());
    every(RELOAD_MS, () => this.wake());
    every(JUDGE_MS, () => void this.#inTurn('choosing who judges', () => this.#judge.renew()));
    every(ORPHANS_MS, () => void this.#inTurn('taking up attacks', () => this.#takeUp()));
    // Notifications may be lost.
    every(RELAY_MS, () => this.relayed());
    every(FORGET_MS, () => void this.#inTurn('forgetting attacks', () => forgetEnded(this.#db)));
  }

  wake(): void {
    // Notifications come in bursts.
    if (this.#reloads > 0) return;
    this.#reloads++;
    void this.#inTurn('loading what is watched', async () => {
      this.#reloads--;
      await this.#reload();
    });
  }

  relayed(): void {
    this.#isRelayed = true;
    this.#taking ??= this.#takeForwarded().finally(() => {
      this.#taking = null;
    });
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#turn;
    await this.#taking;
    await this.#recorder.stop();
    try {
      await this.#judge.stop();
    } catch (error) {
      this.#events.failed('leaving it to others to judge', error);
    }
  }

  /** Repeated if more arrived meanwhile. */
  async #takeForwarded(): Promise<void> {
    try {
      while (this.#isRelayed) {
        this.#isRelayed = false;
        await this.#judge.takeForwarded();
      }
    } catch (error) {
      this.#events.failed('taking what was handed on', error);
    }
  }

  #tick(): void {
    try {
      this.#judge.host?.tick();
    } catch (error) {
      this.#events.failed('judging traffic', error);
    }
  }

  async #reload(): Promise<void> {
    if (await this.#scopes.load()) this.#hooks?.onScopes(this.#scopes.version);
  }

  /** Unseen attacks continue here until they are seen or quiet for their hold time. */
  async #takeUp(): Promise<void> {
    if (this.#judge.host === null) return;
    for (const orphan of await loadOrphans(this.#db, MAX_ORPHANS)) {
      this.#judge.host?.adopt(orphan, orphan.seenAt.getTime());
    }
  }

  #tell(heard: ReportedAttack): void {
    this.#events.recorded(heard);
    this.#hooks?.onAttack(heard);
  }

  #inTurn(what: string, work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => this.#events.failed(what, error));
    return this.#turn;
  }
}
