import type { Outside } from '../agents/scope.ts';
import type { Logger } from 'pino';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { FileOperation } from '@portcullis/link/messages/files.ts';
import type { NodeCall, NodeEngine } from '@portcullis/link/messages/node.ts';
import type { SettledPorts } from './openings/settle.ts';
import type { PowerStates } from './nodes/power-states.ts';
import type { ChangedBuild } from './nodes/store.ts';

/** The calls to nodes by which they are counted. */
export type CallKind = NodeCall['call']['kind'] | `files.${FileOperation['kind']}`;

/** Events of game servers and nodes: each function writes its log line and its metric together. */
export interface GameServerEvents {
  nodeGreeted(node: string): void;
  /** It was silent for so long that the state of its servers is unknown. */
  nodeLost(node: string): void;
  /** Ports that are open while their server runs. */
  portsChanged(by: string, ports: SettledPorts): void;
  nodeTurnedAway(node: string): void;
  engineReported(node: string, engine: NodeEngine): void;
  buildChanged(node: string, build: ChangedBuild): void;
  foreignNamed(node: string, outside: Outside): void;
  /** `outcome`: the kind of the answer, or why there is none; then `tookMs` is null. */
  called(node: string, call: CallKind, outcome: string, tookMs: number | null): void;
  failed(what: string, error: unknown): void;
}

export function createGameServerEvents(
  log: Logger,
  registry: Registry,
  powers: PowerStates,
): GameServerEvents {
  const metrics = createMetrics(registry, powers);
  const engines = new Map<string, string>();
  return {
    nodeGreeted: (node) => log.info({ node }, 'a node said hello'),
    nodeLost: (node) => log.warn({ node }, 'a node is lost: the ports of its servers are closed'),
    portsChanged(by, ports) {
      if (ports.length === 0) return;
      const opened = ports.filter(({ id }) => id === null).length;
      const servers = new Set(ports.map(({ server }) => server)).size;
      log.info({ by, servers, opened, closed: ports.length - opened }, 'opened or closed ports');
    },
    nodeTurnedAway(node) {
      metrics.turnedAway.inc();
      log.warn({ node }, 'a node was not let in: its credential is not good');
    },
    engineReported(node, { kind, version, problem }) {
      const state = `${kind} ${version} ${problem}`;
      if (engines.get(node) === state) return;
      engines.set(node, state);
      const level = version === null ? 'warn' : 'info';
      log[level]({ node, engine: kind, version, problem }, 'what a node says of its engine');
    },
    buildChanged(node, { uuid, name, state, reason }) {
      if (state === 'built' || state === 'failed') metrics.builds.inc({ node, state });
      const level = state === 'failed' ? 'warn' : 'info';
      log[level]({ node, server: uuid, name, reason }, `a server is ${state}`);
    },
    foreignNamed(node, { count, examples }) {
      metrics.foreign.inc({ node }, count);
      log.warn({ node, count, first: examples }, 'a node named servers of another node');
    },
    called(node, call, outcome, tookMs) {
      metrics.calls.inc({ node, call, outcome });
      if (tookMs !== null) metrics.answered.observe({ call }, tookMs / 1000);
    },
    failed: (what, error) => log.error({ error }, `${what} failed`),
  };
}

function createMetrics(registry: Registry, powers: PowerStates) {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `portcullis_${name}`, help, labelNames, registers });
  const nodes: Gauge = new Gauge({
    name: 'portcullis_nodes_connected',
    help: 'Nodes that reported to this process lately.',
    registers,
    collect: () => nodes.set(powers.read().nodes),
  });
  const servers: Gauge = new Gauge({
    name: 'portcullis_game_servers',
    help: 'Game servers by what they do, as the nodes that this process hears said last.',
    labelNames: ['state'],
    registers,
    collect() {
      servers.reset();
      for (const [state, count] of powers.read().servers) servers.set({ state }, count);
    },
  });
  return {
    turnedAway: counter(
      'nodes_turned_away_total',
      'Connections of nodes without their credential.',
    ),
    builds: counter('game_server_builds_total', 'Builds that ended, by how.', ['node', 'state']),
    foreign: counter('node_foreign_servers_total', "Times a node named another node's server.", [
      'node',
    ]),
    calls: counter('node_calls_total', 'Calls to nodes, by what came of them.', [
      'node',
      'call',
      'outcome',
    ]),
    answered: new Histogram({
      name: 'portcullis_node_answer_seconds',
      help: 'From a call to the answer of the node, where it answered.',
      labelNames: ['call'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
  };
}
