import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import { joinTransports } from '@portcullis/link/transport/joined.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { ReplicaRelay } from '@portcullis/link/transport/relay.ts';
import type { AgentHandler, ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Logger } from 'pino';
import { formatCredential } from '@portcullis/link/credential.ts';
import { admitAgent, renewCredential } from '../agent-credential.ts';
import { AgentRates } from './rates.ts';
import { createSocketStreams } from './socket-streams.ts';
import { loadInstallation, remoteCredential } from '../nats/installation.ts';
import { type Collectors, notifyCollectors } from '../attacks/collectors/index.ts';
import type { Db } from '../db/database.ts';
import type { Channel } from '../db/listen.ts';
import type { Fleet } from '../fleet/index.ts';
import type { GameServers } from '../game-servers/index.ts';
import type { StopStack } from '../stop-stack.ts';

export interface LinkConfig {
  /** The Unix socket of edges, and that of nodes and collectors. */
  readonly linkSocket: string;
  readonly nodeSocket: string;
  /** Where agents find NATS. Empty without NATS. */
  readonly natsServers: readonly string[];
  /** The server that this process uses. Null: one of `natsServers`. */
  readonly ownNats: string | null;
}

export interface LinkDeps {
  readonly config: LinkConfig;
  readonly db: Db;
  readonly fleet: Fleet;
  readonly gameServers: GameServers;
  readonly collectors: Collectors;
  readonly log: Logger;
  readonly stops: StopStack;
}

export interface Links {
  /** Between the replicas of control; null without NATS. */
  readonly relay: ReplicaRelay | null;
  /** Passes on a database notification. A null payload means that some may have been lost. */
  notify(channel: Channel, payload: string | null): void;
  /** Announces another version of the watch settings. */
  announceWatch(version: string): void;
}

/**
 * Serves the enrolled agents of this host on two sockets, and those of all hosts over NATS if its servers are given. File permissions protect the edges' socket too, because an
 * edge programs the firewall. Any process may open the socket of nodes and collectors: they run next to untrusted games
 * and parse untrusted packets, so they can neither open the edges' socket nor send messages of edges.
 */
export async function serveLinks(deps: LinkDeps): Promise<Links> {
  const { config, db, fleet, gameServers, collectors, stops } = deps;
  const rates = new AgentRates();
  const edges = await serveIpc({
    path: config.linkSocket,
    handler: rates.limit(withRenewal(db, fleet.agentHandler)),
    admit: async (agent, credential) =>
      agent.kind === 'edge'
        ? admitAgent(db, agent, credential)
        : { ok: false, reason: 'Only edges are served here.' },
    onError: (error) => fleet.failed('answering an edge', error),
  });
  stops.push('link to edges', () => edges.close());
  const servedBy = ({ kind }: AgentRef): Pick<Collectors, 'agentHandler' | 'admit'> =>
    kind === 'collector' ? collectors : gameServers;
  const nodes = await serveIpc({
    path: config.nodeSocket,
    mode: 0o666,
    handler: rates.limit(
      withRenewal(db, (from, request) => servedBy(from).agentHandler(from, request)),
    ),
    admit: (agent, credential) => servedBy(agent).admit(agent, credential),
    onHttp: createSocketStreams(gameServers.serveStream),
    onError: (error) => gameServers.failed('answering a node or collector', error),
  });
  stops.push('link to nodes', () => nodes.close());
  const nats = config.natsServers.length === 0 ? null : await serveNats(deps, rates);
  const all = joinTransports([edges, nodes, ...(nats === null ? [] : [nats])]);
  fleet.attachLink(all);
  gameServers.useLink(all);
  return {
    relay: nats,
    announceWatch: (version) => all.notify({ kind: 'watch', version }),
    notify(channel, payload) {
      if (channel === 'portcullis_generation') {
        fleet.announce();
      } else if (channel === 'portcullis_nodes' && payload !== null) {
        all.notify({ kind: 'node.assignments', nodes: [payload] });
      } else if (channel === 'portcullis_access') {
        all.notify({ kind: 'node.access' });
      } else if (channel === 'portcullis_enrolment') {
        const isNamed = ({ name }: AgentRef): boolean => payload === null || name === payload;
        all.recheck((agent) => agent.kind !== 'collector' && isNamed(agent));
      } else if (channel === 'portcullis_collectors') {
        notifyCollectors(all, payload);
      }
    },
  };
}

/** Answers an agent that asks for another credential; `isRemote`: it is of another host. */
function withRenewal(db: Db, handler: AgentHandler, isRemote = false): AgentHandler {
  return async (from, request) => {
    if (request.kind !== 'agent.renew') return handler(from, request);
    const secret = await renewCredential(db, from);
    const nats = isRemote && secret !== null ? await loadInstallation(db) : null;
    const credential =
      nats === null || secret === null
        ? secret
        : formatCredential(remoteCredential(nats, from, secret));
    return { kind: 'renewal', credential };
  };
}

/** Agents of all kinds, each with its own requests; NATS lets each use its own subjects only. */
async function serveNats(
  { config, db, fleet, gameServers, collectors, log, stops }: LinkDeps,
  rates: AgentRates,
): Promise<ControlSide & ReplicaRelay> {
  const handlers: Readonly<Record<AgentRef['kind'], AgentHandler>> = {
    edge: fleet.agentHandler,
    node: (from, request) => gameServers.agentHandler(from, request),
    collector: (from, request) => collectors.agentHandler(from, request),
  };
  const { NatsLink } = await import('../nats/link.ts');
  const nats = new NatsLink({
    db,
    log,
    servers: config.natsServers,
    connectTo: config.ownNats === null ? config.natsServers : [config.ownNats],
    handler: rates.limit(
      withRenewal(db, (from, request) => handlers[from.kind](from, request), true),
    ),
    // By name, which NATS has authenticated; a socket's peer may give any name before it is admitted.
    admit: async (agent, credential) =>
      (await rates.turn(agent, 'greeting'))
        ? admitAgent(db, agent, credential)
        : { ok: false, reason: 'This agent greets more often than control takes.' },
    onError: (error) => fleet.failed('answering an agent over NATS', error),
  });
  stops.push('NATS', () => nats.close());
  return nats;
}
