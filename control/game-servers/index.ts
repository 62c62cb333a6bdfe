import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { NodeAnswer } from '@portcullis/link/messages/node.ts';
import { isRequestOf } from '@portcullis/link/messages/messages.ts';
import type { Admit, AgentHandler, ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Db } from '../db/database.ts';
import { createGameServerEvents } from './events.ts';
import { createFileHandlers, type FileHandlers } from './files/handlers.ts';
import { FileStreams, type ServeStream } from './files/streams.ts';
import { createHandlers, type GameServerHandlers } from './handlers.ts';
import { type LiveServer, readLive } from './live.ts';
import { startLostNodes } from './openings/lost-nodes.ts';
import { NodeCalls, type Silence, type Timeouts } from './nodes/calls.ts';
import { admitAgent } from '../agent-credential.ts';
import { NodeHandler, type SftpAnswers } from './nodes/node-handler.ts';
import { PowerStates } from './nodes/power-states.ts';
import type { ServerRow } from './store.ts';

export type { ServeStream };
export { recordActivity, recordDone } from './activity.ts';
export { requireServer, type ServerCall } from './require-server.ts';
export { type EggFile, type FoundEgg, loadStoredEgg, saveEggs, sweepEggs } from './eggs.ts';
export {
  type DeletedServer,
  endKeeping,
  forgetDeleted,
  forgetLeft,
  keepPeople,
  loadDeleted,
  loadLeftDisk,
  lockDeleted,
  recordLeft,
  resumeBuild,
  takePeopleBack,
} from './deleted.ts';
export { handOver } from './hand-over.ts';
export { LIMIT_COLUMNS } from './limits.ts';
export { dropAddedPorts } from './ports/added-ports.ts';
export { type LiveServer } from './live.ts';
export { reinstallServer } from './reinstall.ts';
export { type ServerRow } from './store.ts';
export { loadWaiting } from './waiting.ts';
export { variableView } from './views.ts';
export { loadNodeStatuses, type NodeStatus } from './nodes/status.ts';

export interface NodeImages {
  /** Begins to make one; never rejects. */
  make(node: string, image: string): Promise<NodeAnswer | Silence>;
}

export interface GameServerDeps {
  readonly db: Db;
  readonly registry: Registry;
  readonly log: Logger;
  /** Answers nodes about people who connect to their SFTP servers. */
  readonly sftp: SftpAnswers;
  /** Where nodes of other hosts reach this replica, for streams of files. */
  readonly replicaUrl: () => string;
  /** For tests; by default the timeouts of the interface. */
  readonly timeouts?: Timeouts;
}

/** Game servers: their operations of both interfaces, and the nodes that run them. */
export interface GameServers {
  readonly handlers: GameServerHandlers & FileHandlers;
  /** Answers requests of nodes, over any transport. */
  readonly agentHandler: AgentHandler;
  /** Takes a request by which a node opens a stream; returns whether it was waited for. */
  readonly serveStream: ServeStream;
  /** Admits nodes by their credential. */
  readonly admit: Admit;
  /** Images of the shipped eggs on nodes. */
  readonly images: NodeImages;
  /** The state of a server by its node. Null if unknown, which is not offline. */
  look(server: ServerRow): Promise<LiveServer | null>;
  /** Called when the link is up and nodes can be called. */
  useLink(link: ControlSide): void;
  /** Starts what closes ports of lost nodes; returns what stops it. */
  startTimers(): () => Promise<void>;
  /** A failure without a waiting caller: logged. */
  failed(what: string, error: unknown): void;
}

export function createGameServers(deps: GameServerDeps): GameServers {
  const { db, registry, log, sftp, replicaUrl } = deps;
  const powers = new PowerStates();
  const events = createGameServerEvents(log, registry, powers);
  const calls = new NodeCalls(events, deps.timeouts);
  const streams = new FileStreams(replicaUrl);
  const nodes = new NodeHandler({ db, powers, events, sftp });
  return {
    handlers: { ...createHandlers(calls), ...createFileHandlers(calls, streams) },
    serveStream: (request, response) => streams.serve(request, response),
    async agentHandler(from, request) {
      // The transport admits only nodes here, with their requests.
      if (from.kind !== 'node' || !isRequestOf('node', request)) {
        const detail = 'Only nodes are served here.';
        return { kind: 'refused', code: 'unsupported', detail };
      }
      return nodes.answer(from.name, request);
    },
    async admit({ kind, name }, credential) {
      if (kind !== 'node') return { ok: false, reason: 'Only nodes are served here.' };
      const admission = await admitAgent(db, { kind, name }, credential);
      if (!admission.ok) events.nodeTurnedAway(name);
      return admission;
    },
    images: { make: (node, image) => calls.makeImage(node, image) },
    look: (server) => readLive(calls, server),
    useLink: (link) => calls.useLink(link),
    startTimers: () => startLostNodes({ db, events }),
    failed: (what, error) => events.failed(what, error),
  };
}
