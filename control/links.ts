import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import { type Collectors, tellCollectors } from './collectors/index.ts';
import type { Db } from './db/database.ts';
import type { ControlConfig } from './config/config.ts';
import { currentGeneration } from './fleet/generations.ts';
import type { Fleet } from './fleet/index.ts';
import type { GameServers } from './game-servers/index.ts';
import type { StopStack } from './stop-stack.ts';

export interface LinkGround {
  readonly config: Pick<ControlConfig, 'linkSocket' | 'nodeSocket'>;
  readonly db: Db;
  readonly fleet: Fleet;
  readonly gameServers: GameServers;
  readonly collectors: Collectors;
  readonly stops: StopStack;
}

/** Every channel of the database that links listen to. */
export const LINK_CHANNELS = [
  'portcullis_generation',
  'portcullis_nodes',
  'portcullis_enrolment',
  'portcullis_collectors',
] as const;

export interface Links {
  /** Something changed in the database. A null payload: some changes may have been missed, so all of them did. */
  tell(channel: string, payload: string | null): void;
  /** What is to be watched has another version. */
  tellWatch(version: string): void;
}

/**
 * Where agents of this host meet control: a socket for edges, which those may open who may program the firewall,
 * and one for nodes and collectors of flows, which everybody may open and only who is enrolled gets past. A node stands
 * beside games of strangers, a collector reads what networks send; neither can open the edges' socket nor say here
 * what edges say.
 */
export async function serveLinks({
  config,
  db,
  fleet,
  gameServers,
  collectors,
  stops,
}: LinkGround): Promise<Links> {
  const edges = await serveIpc({
    path: config.linkSocket,
    handler: fleet.agentHandler,
    admit: async ({ kind }) =>
      kind === 'edge' ? { ok: true } : { ok: false, reason: 'Only edges are served here.' },
    onError: (error) => fleet.failed('answering an edge', error),
  });
  stops.push('link to edges', () => edges.close());
  fleet.speakThrough(edges);
  const servedBy = ({ kind }: AgentRef): Pick<Collectors, 'agentHandler' | 'admit'> =>
    kind === 'collector' ? collectors : gameServers;
  const nodes = await serveIpc({
    path: config.nodeSocket,
    mode: 0o666,
    handler: (from, request) => servedBy(from).agentHandler(from, request),
    admit: (agent, credential) => servedBy(agent).admit(agent, credential),
    onError: (error) => gameServers.failed('answering a node or collector', error),
  });
  stops.push('link to nodes', () => nodes.close());
  gameServers.speakThrough(nodes);
  return {
    tellWatch(version) {
      for (const link of [edges, nodes]) link.notify({ kind: 'watch', version });
    },
    tell(channel, payload) {
      if (channel === 'portcullis_generation') {
        void announce(edges, db, payload).catch((error) => fleet.failed('announcing', error));
      } else if (channel === 'portcullis_nodes' && payload !== null) {
        nodes.notify({ kind: 'node.assignments', nodes: [payload] });
      } else if (channel === 'portcullis_enrolment') {
        nodes.recheck(
          ({ kind, name }) => kind === 'node' && (payload === null || name === payload),
        );
      } else if (channel === 'portcullis_collectors') {
        tellCollectors(nodes, payload);
      }
    },
  };
}

/** Tells edges of a generation. A null payload: some may have been missed, so look. */
async function announce(link: ControlSide, db: Db, payload: string | null): Promise<void> {
  const heard = payload === null ? await currentGeneration(db) : Number(payload);
  if (Number.isSafeInteger(heard)) link.notify({ kind: 'generation', generation: heard });
}
