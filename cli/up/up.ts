import { join } from 'node:path';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import type { NodeConfig } from '@portcullis/node/config.ts';
import { controlConfig, controlEnvironment } from '../commands/control.ts';
import { closedNetworksOf, dockerHostOf, engineOf } from '../commands/node.ts';
import { unavailable, usageError } from '../exit.ts';
import { readFleet } from '../fleet-file.ts';
import { credentialFile } from '../node-credential.ts';
import { parseDuration } from '../options.ts';
import { warn } from '../output.ts';
import type { UpOptions } from '../program/up.ts';
import { describeStart, type Started } from './banner.ts';
import { runCollectors } from './collectors.ts';
import { type DataDirectory, takeDataDirectory } from './data-directory.ts';
import { edgeProcess } from './edge-launch.ts';
import { startFirstServer } from './first-power.ts';
import { nodeProcess } from './node-launch.ts';
import { type PreparedFleet, prepareFleet } from './prepare-fleet.ts';
import { type ChildMessage, type ChildSpec, Supervised } from './supervised.ts';

const root = join(import.meta.dirname, '..', '..');
const CONTROL_MAIN = join(root, 'control', 'main.ts');

/** `portcullis up`: control, an edge and a node, each a process with only the rights it needs, until stopped. */
export async function runUp(options: UpOptions): Promise<void> {
  if (options.confirmWithin !== undefined) {
    if (options.enforce !== true)
      throw usageError('--confirm-within is about --enforce: give both');
    parseDuration(options.confirmWithin, '--confirm-within');
  }
  const config = controlConfig(options);
  // Before anything starts: a mistake in the file is told at once, and leaves nothing behind.
  if (options.fleet !== undefined) await readFleet(options.fleet);
  const engine = options.engine === undefined ? null : engineOf(options.engine);
  const data = takeDataDirectory(config.dataDir);
  const stopping = stopRequested();
  const running: { stop(): Promise<void> }[] = [];
  const stopAll = async (): Promise<void> => {
    // Agents first: they say goodbye to a control plane that still listens.
    for (const part of running.toReversed()) await part.stop();
  };
  try {
    const site = { options: { ...options, data: data.path }, data, engine, running };
    const up = bringUp(site, stopping);
    const early = await Promise.race([up, stopping.then(() => null)]);
    if (early !== null) {
      describeStart(early, options.json === true);
      await stopping;
    }
    await up.catch(() => {});
  } finally {
    await stopAll();
  }
}

interface Site {
  readonly options: UpOptions;
  readonly data: DataDirectory;
  /** null: whichever suits what there is to run. */
  readonly engine: NodeConfig['engine'] | null;
  /** What was started, for whoever stops it. */
  readonly running: { stop(): Promise<void> }[];
}

async function bringUp(site: Site, stopping: Promise<unknown>): Promise<Started> {
  const { options, data } = site;
  const control = await startPart(site, {
    name: 'control',
    command: process.execPath,
    args: [CONTROL_MAIN],
    env: controlEnvironment(options),
  });
  const url = required(control, 'url');
  const fleet = await prepareFleet(
    required(control, 'databaseUrl'),
    options,
    credentialFile(data.path),
  );
  const enforcement = await startEdge(site, control, fleet);
  const node = await startNode(site, control, fleet);
  site.running.push(
    runCollectors({
      databaseUrl: required(control, 'databaseUrl'),
      linkPath: required(control, 'nodeSocket'),
      folder: join(data.path, 'collectors'),
      env: controlEnvironment(options),
      supervise,
    }),
  );
  const server = node?.problem === null ? await startServer(url, fleet, stopping) : null;
  return { url, fleet, ...enforcement, node, server };
}

async function startEdge(
  site: Site,
  control: ChildMessage['facts'],
  fleet: PreparedFleet,
): Promise<Pick<Started, 'mode' | 'reason' | 'confirmWithin'>> {
  const { options, data } = site;
  if (fleet.edge === null) {
    return { mode: 'observe', reason: 'the fleet names no edge', confirmWithin: null };
  }
  const confirmWithin = options.confirmWithin ?? null;
  const config: EdgeConfig = {
    name: fleet.edge,
    linkPath: required(control, 'linkSocket'),
    stateDir: data.edge,
    mode: options.enforce === true ? 'enforce' : 'observe',
    confirmWithinMs:
      confirmWithin === null ? null : parseDuration(confirmWithin, '--confirm-within'),
    // The control plane stays reachable on this host, whatever the holders of its addresses deny.
    management: [{ protocol: 'tcp', port: portOf(required(control, 'url')) }],
  };
  const { mode, reason } = await startPart(site, edgeProcess(config, controlEnvironment(options)));
  if (mode === 'enforce') return { mode, reason: null, confirmWithin };
  const why = options.enforce === true ? (reason ?? '') : '--enforce was not given';
  return { mode: 'observe', reason: why, confirmWithin: null };
}

async function startNode(
  site: Site,
  control: ChildMessage['facts'],
  { node }: PreparedFleet,
): Promise<Started['node']> {
  const { options, data } = site;
  if (node === null) return null;
  // What a first start makes needs no Docker; an operator's file says what it is to run.
  const engine = site.engine ?? (options.fleet === undefined ? 'process' : 'docker');
  const config: NodeConfig = {
    ...node,
    linkPath: required(control, 'nodeSocket'),
    stateDir: data.node,
    engine,
    dockerHost: dockerHostOf(options.dockerHost),
    closedNetworks: closedNetworksOf(undefined),
    // Containers have somebody who looks after them while we are away; processes would be left to nobody.
    onStop: engine === 'process' ? 'end' : 'leave',
  };
  try {
    await startPart(site, nodeProcess(config, controlEnvironment(options)));
    return { name: node.name, engine, problem: null };
  } catch (error) {
    // The firewall does not stand or fall with game servers.
    const problem = error instanceof Error ? error.message : String(error);
    return { name: node.name, engine, problem };
  }
}

async function startServer(
  url: string,
  { server, keys }: PreparedFleet,
  stopping: Promise<unknown>,
): Promise<Started['server']> {
  const [key] = keys;
  if (server === null || key === undefined) return null;
  let isStopping = false;
  void stopping.then(() => (isStopping = true));
  const problem = await startFirstServer({ url, key: key.key }, server.uuid, () => isStopping);
  return { ...server, problem };
}

/** Starts one of the processes, and gives what it says of itself. */
async function startPart({ running }: Site, spec: ChildSpec): Promise<ChildMessage['facts']> {
  const part = supervise(spec);
  running.push(part);
  return part.start().catch((error: unknown) => {
    throw unavailable(`the ${spec.name} process did not start; what it said stands above`, error);
  });
}

function supervise(spec: ChildSpec): Supervised {
  // Children say little on a terminal unless asked: what matters is printed here.
  const env = { ...spec.env, PORTCULLIS_LOG_LEVEL: spec.env['PORTCULLIS_LOG_LEVEL'] ?? 'warn' };
  return new Supervised(
    { ...spec, env },
    {
      onReady: () => {},
      onRestart: (why, waitMs) =>
        warn(`${spec.name} ended (${why}); starting it again in ${waitMs} ms`),
    },
  );
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

function required(facts: ChildMessage['facts'], name: string): string {
  const fact = facts[name];
  if (fact === undefined) throw new Error(`control did not say its ${name}`);
  return fact;
}

function stopRequested(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => resolve(signal));
    }
  });
}
