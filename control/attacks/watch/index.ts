import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Attack, AttackType } from '@portcullis/core/attacks/attack.ts';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import { type Resumable, resumableOf } from '@portcullis/core/attacks/resume.ts';
import type { WatchDesk } from '../../fleet/index.ts';
import type { Db } from '../../db/database.ts';
import type { HeardAttack } from '../mitigations/facts.ts';
import { Recorder } from '../record/recorder.ts';
import { forgetEnded, loadOrphans, type Orphan } from '../record/store.ts';
import { createWatchDesk } from './desk.ts';
import { DetectorHost } from './host.ts';
import { ScopeTable } from './scopes.ts';

export interface WatchOptions {
  readonly db: Db;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Control's own detector: what agents measure comes in, records of attacks come out. */
export interface Watching {
  readonly desk: WatchDesk;
  /** Once the database is there. Never rejects. */
  start(hooks: WatchHooks): Promise<void>;
  /** Holdings or settings changed: look now. */
  wake(): void;
  stop(): Promise<void>;
}

export interface WatchHooks {
  /** Told after the attack was recorded. */
  readonly onAttack: (heard: HeardAttack) => void;
  /** What is to be watched has another version. */
  readonly onScopes: (version: string) => void;
}

/** Holdings begin and end with time, and notices may be lost. */
const RELOAD_MS = 5_000;
const ORPHANS_MS = 1_000;
const FORGET_MS = 60_000;
/** Attacks that are taken up at a time. */
const MAX_ORPHANS = 10_000;

export function createWatching({ db, log, registry }: WatchOptions): Watching {
  return new Watch(db, log, registry);
}

class Watch implements Watching {
  readonly desk: WatchDesk;
  readonly #db: Db;
  readonly #log: Logger;
  readonly #scopes: ScopeTable;
  readonly #host: DetectorHost;
  readonly #recorder: Recorder;
  readonly #recorded: Counter<'kind'>;
  readonly #timers: NodeJS.Timeout[] = [];
  #hooks: WatchHooks | null = null;
  #turn: Promise<void> = Promise.resolve();
  #reloads = 0;

  constructor(db: Db, log: Logger, registry: Registry) {
    this.#db = db;
    this.#log = log;
    this.#recorded = new Counter({
      name: 'portcullis_attacks_recorded_total',
      help: 'What was recorded of attacks: opened, changed, ended, continued',
      labelNames: ['kind'] as const,
      registers: [registry],
    });
    this.#scopes = new ScopeTable(db);
    const onAttack = (heard: HeardAttack): void => this.#tell(heard);
    this.#recorder = new Recorder({
      db,
      name: randomUUID(),
      onAttack,
      topsOf: (subject) => this.#host.trails.topsOf(subject),
      failed: (what, error) => this.#failed(what, error),
    });
    this.#host = new DetectorHost({
      scopes: this.#scopes,
      note: (seen) => this.#recorder.note(seen),
      noteEvidence: (subject, evidence) => this.#recorder.noteEvidence(subject, evidence),
    });
    this.desk = createWatchDesk({ db, scopes: this.#scopes, host: this.#host, onAttack });
  }

  async start(hooks: WatchHooks): Promise<void> {
    this.#hooks = hooks;
    await this.#reload();
    await this.#takeUp();
    const every = (ms: number, work: () => void): void => {
      this.#timers.push(setInterval(work, ms));
    };
    every(BUCKET_MS, () => this.#tick());
    every(RELOAD_MS, () => this.wake());
    every(ORPHANS_MS, () => void this.#inTurn('taking up attacks', () => this.#takeUp()));
    every(FORGET_MS, () => void this.#inTurn('forgetting attacks', () => forgetEnded(this.#db)));
  }

  wake(): void {
    // Many notices come together.
    if (this.#reloads > 0) return;
    this.#reloads++;
    void this.#inTurn('loading what is watched', async () => {
      this.#reloads--;
      await this.#reload();
    });
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#turn;
    await this.#recorder.stop();
  }

  #tick(): void {
    try {
      this.#host.tick();
    } catch (error) {
      this.#failed('judging traffic', error);
    }
  }

  async #reload(): Promise<void> {
    if (await this.#scopes.load()) this.#hooks?.onScopes(this.#scopes.version);
  }

  /** Attacks that nobody sees go on here, until they are seen or have been quiet for their hold time. */
  async #takeUp(): Promise<void> {
    for (const orphan of await loadOrphans(this.#db, MAX_ORPHANS)) {
      const known = this.#resumable(orphan);
      this.#host.adopt(known, orphan.seenAt.getTime(), orphan.openedAt.getTime());
    }
  }

  #resumable(orphan: Orphan): Resumable {
    const subject = shownSubject(orphan.subject);
    const measured = (value: number) => ({ value, low: value, high: value });
    const type = orphan.type as AttackType;
    const recorded: Attack = {
      id: `${subject}@${orphan.startedAt.getTime()}`,
      subject,
      type,
      shares: [{ type, share: 1 }],
      peakPps: measured(orphan.peakPps),
      peakBps: measured(orphan.peakBps),
      startedAtMs: orphan.startedAt.getTime(),
      endedAtMs: null,
    };
    const kept = orphan.detector as Partial<Resumable> | null;
    const whole =
      kept?.attack?.shares !== undefined &&
      kept.limits !== undefined &&
      kept.ends !== undefined &&
      kept.baseline !== undefined;
    if (!whole) return resumableOf(recorded, null, this.#scopes.thresholdsOf(subject));
    const { startedAtMs } = recorded;
    return {
      attack: { ...recorded, ...kept.attack, subject, startedAtMs },
      prefix: kept.prefix ?? null,
      limits: kept.limits,
      ends: kept.ends,
      baseline: kept.baseline,
      evidence: kept.evidence ?? [],
    };
  }

  #tell(heard: HeardAttack): void {
    const { attackId, kind, attack } = heard;
    this.#recorded.inc({ kind });
    this.#log.info({ attackId, subject: attack.subject, type: attack.type }, `an attack: ${kind}`);
    this.#hooks?.onAttack(heard);
  }

  #inTurn(what: string, work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => this.#failed(what, error));
    return this.#turn;
  }

  #failed(what: string, error: unknown): void {
    this.#log.error({ error }, `${what} failed; it is tried again`);
  }
}

/** As subjects are written: a single address without its length. */
function shownSubject(cidr: string): string {
  const single = cidr.endsWith(cidr.includes(':') ? '/128' : '/32');
  return single ? cidr.slice(0, cidr.lastIndexOf('/')) : cidr;
}
