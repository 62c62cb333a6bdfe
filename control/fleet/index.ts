import type { AgentHandler, ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../db/database.ts';
import { createEdgeHandler } from './edges/handler.ts';
import { createEnforcement, type EnforcementReader } from './edges/enforcement.ts';
import { createFleetEvents } from './events.ts';
import { registerFleetGauges } from './edges/gauges.ts';
import { type AskEdges, Questions } from './edges/questions.ts';
import { startHoldingScheduler } from './timers/holdings.ts';
import type { Sweep } from './timers/retention.ts';
import { loadSourceSets } from './policies/source-sets.ts';
import { startSweeps } from './timers/sweeps.ts';
import { SyncDesk } from './sync/sync.ts';
import { NO_WATCH_DESK, type WatchDesk } from './edges/detection-service.ts';

export { takeWatch, type WatchDesk } from './edges/detection-service.ts';
export type { AskEdges } from './edges/questions.ts';
export type { EdgeEnforcement, EnforcementReader } from './edges/enforcement.ts';
export { loadSourceSets, prepareSourceSets, releaseSourceSets } from './policies/source-sets.ts';

export interface FleetDeps {
  readonly db: Db;
  readonly registry: Registry;
  readonly log: Logger;
  /** Takes what edges measure; absent: nobody does. */
  readonly watch?: WatchDesk;
  /** Runs with the sweeps of the fleet's own tables. */
  readonly sweepAttacks: Sweep;
}

/** Edges, generations, and what happens to them because time passes. */
export interface Fleet {
  readonly enforcement: EnforcementReader;
  /** What control answers agents; for any transport of link/. */
  readonly agentHandler: AgentHandler;
  /** Puts a packet to edges that are connected to this process. */
  readonly askEdges: AskEdges;
  /** The link is up: edges can be asked. */
  speakThrough(link: ControlSide): void;
  /** Holdings that begin and end, leases, retention. */
  startClockwork(): Clockwork;
  /** Something of the fleet went wrong where nobody waits for an answer: logged and counted. */
  failed(what: string, error: unknown): void;
}

export interface Clockwork {
  /** Something may have changed what happens next: look now. */
  wake(): void;
  stop(): Promise<void>;
}

export function createFleet({
  db,
  registry,
  log,
  watch = NO_WATCH_DESK,
  sweepAttacks,
}: FleetDeps): Fleet {
  const events = createFleetEvents(log, registry);
  const enforcement = createEnforcement({ db });
  const desk = new SyncDesk({ db, loadSourceSets });
  const questions = new Questions();
  registerFleetGauges(registry, enforcement);
  return {
    enforcement,
    agentHandler: createEdgeHandler({ db, desk, events, questions, watch }),
    askEdges: questions.ask,
    speakThrough: (link) => questions.speakThrough(link),
    startClockwork() {
      const scheduler = startHoldingScheduler({ db, events });
      const sweeps = startSweeps({ db, desk, events, sweepAttacks });
      return {
        wake: () => scheduler.wake(),
        async stop() {
          await Promise.all([scheduler.stop(), sweeps.stop()]);
        },
      };
    },
    failed: (what, error) => events.failed(what, error),
  };
}
