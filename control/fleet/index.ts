import type { AgentHandler, ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../db/database.ts';
import { type DetectionService, NO_DETECTION } from '../agents/detection-service.ts';
import { createEdgeHandler } from './edge-handler.ts';
import { createEnforcement, type EnforcementReader } from './edges/enforcement.ts';
import { createFleetEvents, type FleetEvents, type LiveGeneration } from './events.ts';
import { registerFleetGauges } from './edges/gauges.ts';
import { createEdgeQueries, type QueryEdges } from './edges/queries.ts';
import { startHoldingScheduler } from './timers/holdings.ts';
import type { OtherSweeps } from './timers/retention.ts';
import { loadSourceSets } from './policies/source-sets.ts';
import { markLive, raiseUnconcerned } from './edges/store.ts';
import { startSweeps } from './timers/sweeps.ts';
import { Announcer } from './sync/announcer.ts';
import { SyncService } from './sync/sync.ts';

export type { QueryEdges } from './edges/queries.ts';
export type { EnforcementReader } from './edges/enforcement.ts';
export { type EdgeStatus, loadEdgeStatuses } from './edges/status.ts';
export { KEPT_OBJECT_DAYS } from './timers/retention.ts';
export { storedCidr } from './policies/assembly.ts';
export { loadSourceSets, prepareSourceSets, releaseSourceSets } from './policies/source-sets.ts';

export interface FleetDeps {
  readonly db: Db;
  readonly registry: Registry;
  readonly log: Logger;
  /** Receives the measurements of edges; absent when attacks are not recorded. */
  readonly watch?: DetectionService;
  /** Run with the sweeps of the fleet's own tables. */
  readonly otherSweeps: OtherSweeps;
  /** Called with generations that every edge has. */
  readonly onLive?: ((generations: readonly LiveGeneration[]) => void) | undefined;
}

/** Edges, generations, and their timers. */
export interface Fleet {
  readonly enforcement: EnforcementReader;
  /** Answers agents, over any transport of link/. */
  readonly agentHandler: AgentHandler;
  /** Queries the edges connected to this process for their verdict on a packet. */
  readonly queryEdges: QueryEdges;
  /** Sets the link over which edges are queried and get new generations. */
  attachLink(link: ControlSide): void;
  /** There is a new generation, or there may be one: sends it to the edges of this process. */
  announce(): void;
  /** Starts the timers: holdings that start and end, leases, retention. */
  startTimers(): FleetTimers;
  /** Logs a failure of background work. */
  failed(what: string, error: unknown): void;
}

export interface FleetTimers {
  /** Checks at once, because holdings may have changed. */
  wake(): void;
  stop(): Promise<void>;
}

export function createFleet({
  db,
  registry,
  log,
  watch = NO_DETECTION,
  otherSweeps,
  onLive,
}: FleetDeps): Fleet {
  const logged = createFleetEvents(log, registry);
  const events: FleetEvents = {
    ...logged,
    generationsLive(generations) {
      logged.generationsLive(generations);
      onLive?.(generations);
    },
  };
  const enforcement = createEnforcement({ db });
  const sync = new SyncService({ db, loadSourceSets });
  let link: ControlSide | null = null;
  let announcer: Announcer | null = null;
  registerFleetGauges(registry, enforcement);
  return {
    enforcement,
    agentHandler: createEdgeHandler({ db, sync, events, watch }),
    queryEdges: createEdgeQueries(() => link),
    attachLink(attached) {
      link = attached;
      const failed = (error: unknown): void => events.failed('announcing a generation', error);
      const noteSets = (generation: number, version: string): void =>
        sync.noteSets(generation, version);
      const raise = async (edges: readonly string[]): Promise<void> => {
        if (await raiseUnconcerned(db, edges)) events.generationsLive(await markLive(db));
      };
      announcer = new Announcer({ db, link, loadSourceSets, raise, noteSets, failed });
    },
    announce: () => announcer?.announce(),
    startTimers() {
      const scheduler = startHoldingScheduler({ db, events });
      const sweeps = startSweeps({ db, sync, events, otherSweeps });
      return {
        wake: () => scheduler.wake(),
        async stop() {
          await Promise.all([scheduler.stop(), sweeps.stop(), sync.stop(), announcer?.stop()]);
        },
      };
    },
    failed: (what, error) => events.failed(what, error),
  };
}
