import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import { admitAgent } from './agent-credential.ts';
import { type Collectors, notifyCollectors } from './collectors/index.ts';
import type { Db } from './db/database.ts';
import type { Channel } from './db/listen.ts';
import type { ControlConfig } from './config/config.ts';
import { currentGeneration } from './fleet/generations.ts';
import type { Fleet } from './fleet/index.ts';
import type { GameServers } from './game-servers/index.ts';
import type { StopStack } from './stop-stack.ts';

export interface LinkDeps {
  readonly config: Pick<ControlConfig, 'linkSocket' | 'nodeSocket'>;
  readonly db: Db;
  readonly fleet: Fleet;
  readonly gameServers: GameServers;
  readonly collectors: Collectors;
  readonly stops: StopStack;
}

export interface Links {
  /** Passes on a database notification. A null payload means that some may have been lost. */
  notify(channel: Channel, payload: string | null): void;
  /** Announces another version of the watch settings. */
  announceWatch(version: string): void;
}

/**
 * Serves the enrolled agents of this host on two sockets. File permissions protect the edges' socket too, because an
 * edge programs the firewall. Any process may open the socket of nodes and collectors: they run next to untrusted games
 * and parse untrusted packets, so they can neither open the edges' socket nor send messages of edges.
 */
export async function serveLinks({
  config,
  db,
  fleet,
  gameServers,
  collectors,
  stops,
}: LinkDeps): Promise<Links> {
  const edges = await serveIpc({
    path: config.linkSocket,
    handler: fleet.agentHandler,
    admit: async (agent, credential) =>
      agent.kind === 'edge'
        ? admitAgent(db, agent, credential)
        : { ok: false, reason: 'Only edges are served here.' },
    onError: (error) => fleet.failed('answering an edge', error),
  });
  stops.push('link to edges', () => edges.close());
  fleet.attachLink(edges);
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
    announceWatch(version) {
      for (const link of [edges, nodes]) link.notify({ kind: 'watch', version });
    },
    notify(channel, payload) {
      if (channel === 'portcullis_generation') {
        void announce(edges, db, payload).catch((error) => fleet.failed('announcing', error));
      } else if (channel === 'portcullis_nodes' && payload !== null) {
        nodes.notify({ kind: 'node.assignments', nodes: [payload] });
      } else if (channel === 'portcullis_enrolment') {
        const isNamed = ({ name }: AgentRef): boolean => payload === null || name === payload;
        edges.recheck(isNamed);
        nodes.recheck((agent) => agent.kind === 'node' && isNamed(agent));
      } else if (channel === 'portcullis_collectors') {
        notifyCollectors(nodes, payload);
      }
    },
  };
}

/** Announces a generation to edges. A null payload means that notifications may have been lost. */
async function announce(link: ControlSide, db: Db, payload: string | null): Promise<void> {
  const generation = payload === null ? await currentGeneration(db) : Number(payload);
  if (Number.isSafeInteger(generation)) link.notify({ kind: 'generation', generation });
}
