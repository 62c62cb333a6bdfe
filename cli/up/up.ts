import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { FleetFile } from '@portcullis/control/operator/fleet-file/desired.ts';
import type { NodeConfig } from '@portcullis/node/config.ts';
import { HostManagement, parseManagement } from '../agents/management.ts';
import { edgeProcess, nodeProcess, type ProcessSpec, programOf } from '../agents/processes.ts';
import { engineSettings, parseEngine, sftpListen } from '../commands/node.ts';
import {
  controlConfig,
  controlEnvironment,
  type ControlOptions,
  controlVariables,
  optionName,
} from '../control-options.ts';
import { unavailable, usageError } from '@portcullis/caller/exit.ts';
import { buildPortalIfNeeded } from '../portal-build.ts';
import { commandLine } from '../installation/command-line.ts';
import { readFleet } from '../fleet-file.ts';
import { ownAddress } from '../options.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { styled, warn } from '@portcullis/caller/output.ts';
import { adopt, decideAdoption, requireEdgeRights } from './adoption.ts';
import { describeStart, showKeys, type Started } from './banner.ts';
import { runCollectors } from './collectors.ts';
import { type DataDirectory, takeDataDirectory } from './data-directory.ts';
import { UnseenKeys } from './first-key.ts';
import { expectEdge } from './edge-in-service.ts';
import { type FirstOperator, prepareFirstOperator } from './first-operator.ts';
import { startFirstServer } from './first-server.ts';
import type { StartedHosts } from './hosts/describe-hosts.ts';
import { decideHosts, type Hosts, type HostsOptions } from './hosts/hosts-options.ts';
import { inviteHosts } from './hosts/join-commands.ts';
import { type PreparedHosts, prepareHosts } from './hosts/prepare-hosts.ts';
import { type FleetOptions, type PreparedFleet, prepareFleet } from './prepare-fleet.ts';
import { type ReadyFacts, SupervisedProcess } from './supervised-process.ts';

export interface UpOptions extends ControlOptions, FleetOptions, HostsOptions {
  readonly adopt?: string;
  readonly engine?: string;
  readonly dockerHost?: string;
  readonly sftpListen?: string;
  readonly enforce?: boolean;
  readonly confirmWithin?: string;
  readonly management?: string;
  readonly json?: boolean;
}

interface Stoppable {
  stop(): Promise<void>;
}

interface Platform {
  readonly options: UpOptions;
  /** The file of --fleet. */
  readonly fleetFile: FleetFile | null;
  readonly data: DataDirectory;
  /** The hosts of --hosts; null without. */
  readonly hosts: Hosts | null;
  /** Undefined without --engine. */
  readonly engine: NodeConfig['engine'] | undefined;
  /** Where its node serves SFTP. */
  readonly sftp: NodeConfig['sftp'];
  /** In the order of starting. */
  readonly running: Stoppable[];
  readonly stopping: AbortSignal;
  readonly startedMs: number;
}

/** Runs control, an edge and a node, each as a process with only the rights it needs, until a signal stops them. */
export async function runUp(options: UpOptions): Promise<void> {
  if (options.confirmWithin !== undefined) {
    if (options.enforce !== true) throw usageError('--confirm-within needs --enforce: give both');
    parseDuration(options.confirmWithin, '--confirm-within');
  }
  const hosts = decideHosts(options);
  const { dataDir } = await controlConfig(options);
  // Mistakes in the file are reported before anything is started or created.
  const fleetFile = options.fleet === undefined ? null : await readFleet(options.fleet);
  const engine = options.engine === undefined ? undefined : parseEngine(options.engine);
  const sftp = await sftpListen(options.sftpListen, 'off');
  const adoptFrom = await decideAdoption(dataDir, options);
  requireEdgeRights(dataDir);
  const data = takeDataDirectory(dataDir);
  await adopt(adoptFrom, data.path);
  const running: Stoppable[] = [];
  const stopping = abortOnSignal();
  const stopped = new Promise<null>((resolve) => {
    stopping.addEventListener('abort', () => resolve(null), { once: true });
  });
  try {
    const upOptions = { ...options, data: data.path };
    const startedMs = performance.now();
    const facts = { options: upOptions, fleetFile, data, hosts, engine, sftp };
    const platform = { ...facts, running, stopping, startedMs };
    const starting = startPlatform(platform);
    // Ctrl-C may end a process that was just made, whose exit is then reported before the signal.
    const begun = starting.catch(async (error: unknown) => {
      await setImmediate();
      if (stopping.aborted) return null;
      throw error;
    });
    const started = await Promise.race([begun, stopped]);
    if (started !== null) {
      describeStart(started, options.json === true);
      new UnseenKeys(data.path).seen();
      await stopped;
    }
    await starting.catch(() => {});
  } finally {
    // Agents stop before control, so that they can sign off.
    for (const part of running.toReversed()) await part.stop();
  }
}

async function startPlatform(platform: Platform): Promise<Started> {
  const { options, data, running } = platform;
  await buildPortalIfNeeded();
  const hosts = await prepare(platform);
  const controlProcess = supervise(controlSpec(platform, hosts));
  step(platform, 'Starting the database and the control plane');
  const control = await startProcess(platform, controlProcess);
  step(platform, 'Preparing the fleet');
  const url = ownUrl(platform, required(control, 'url'));
  const databaseUrl = required(control, 'databaseUrl');
  const fleet = await prepareAndShow(platform, databaseUrl);
  controlProcess.announce({ kind: 'fleet-applied' });
  const firstOperator = await firstOperatorOf(platform, databaseUrl, url);
  step(platform, 'Starting the edge');
  const edgeWait = fleet.edge === null ? null : await expectEdge(databaseUrl, fleet.edge.name);
  const enforcement = await startEdge(platform, control, fleet);
  step(platform, 'Starting the node');
  const node = await startNode(platform, control, fleet);
  const collectors = runCollectors({
    databaseUrl,
    linkPath: required(control, 'nodeSocket'),
    folder: join(data.path, 'collectors'),
    env: controlEnvironment(options),
    supervise,
  });
  running.push(collectors);
  if (fleet.server !== null) step(platform, `Building the game server ${fleet.server.name}`);
  const server = node?.problem === null ? await startServer(platform, url, fleet) : null;
  const isEnforcing = enforcement.mode === 'enforce' && edgeWait !== null;
  const unconfirmed = isEnforcing ? await edgeWait.whyNotInService(platform.stopping) : null;
  return {
    url: platform.hosts?.url ?? url,
    dataDir: data.path,
    hosts: await invite(platform, hosts, { databaseUrl, fleet }),
    unconfirmed,
    enforce: enforceCommand(options, data.path),
    firstOperator,
    fleet,
    ...enforcement,
    node,
    server,
  };
}

function controlSpec(platform: Platform, hosts: PreparedHosts | null): ProcessSpec {
  const { options, fleetFile, data } = platform;
  const [command, args] = programOf('control');
  const env = {
    ...controlEnvironment(controlOptions(platform)),
    ...hosts?.env,
    PORTCULLIS_PROGRAM: commandLine([]),
    ...(options.enforce !== true && {
      PORTCULLIS_ENFORCE_COMMAND: enforceCommand(options, data.path),
    }),
    ...(fleetFile !== null && { PORTCULLIS_AWAIT_FLEET: '1' }),
  };
  return { name: 'control', command, args, env };
}

async function prepareAndShow(
  { options, fleetFile: file, data }: Platform,
  databaseUrl: string,
): Promise<PreparedFleet> {
  const unseen = new UnseenKeys(data.path);
  const show = (keys: PreparedFleet['keys']): void => {
    if (options.json === true) return;
    // At once: what interrupts the start from here on must not cost the key.
    showKeys(keys);
    unseen.seen();
  };
  return prepareFleet(databaseUrl, { options, file, dataDir: data.path, unseen, show });
}

/** The options of the control process: those that were given, and those that follow from --hosts. */
function controlOptions({ options, hosts, data }: Platform): ControlOptions {
  return hosts === null ? options : { ...options, ...hosts.control(data.path) };
}

/** Makes the certificates and starts NATS for --hosts; null without. */
async function prepare(platform: Platform): Promise<PreparedHosts | null> {
  const { hosts, data, running } = platform;
  if (hosts === null) return null;
  step(platform, 'Making the certificates, and starting NATS for other hosts');
  const { account } = await controlConfig(platform.options);
  return prepareHosts(hosts, { dataDir: data.path, account, supervise, running });
}

async function invite(
  { hosts, fleetFile }: Platform,
  prepared: PreparedHosts | null,
  { databaseUrl, fleet }: { readonly databaseUrl: string; readonly fleet: PreparedFleet },
): Promise<StartedHosts | null> {
  if (hosts === null || prepared === null) return null;
  const here = { edge: fleet.edge?.name ?? null, node: fleet.node?.name ?? null };
  const hasFleetFile = fleetFile !== null;
  const invitations = await inviteHosts(databaseUrl, { url: hosts.url, here, hasFleetFile });
  return { hosts, fingerprint: prepared.fingerprint, invitations };
}

/**
 * The URL by which this process reaches control: its certificate is for this address, whatever its name resolves to
 * here.
 */
function ownUrl({ hosts }: Platform, url: string): string {
  if (hosts === null) return url;
  const { port, hostname } = new URL(url);
  return `https://${ownAddress(hostname)}:${port}`;
}

/** `url` is where control listens, for a start that leaves the port to the system. */
async function firstOperatorOf(
  platform: Platform,
  databaseUrl: string,
  url: string,
): Promise<FirstOperator> {
  const { publicUrl } = await controlConfig(controlOptions(platform));
  return prepareFirstOperator(databaseUrl, publicUrl.endsWith(':0') ? url : publicUrl);
}

/** The command that enforces what this one runs; root takes over the installation of another account. */
function enforceCommand(options: UpOptions, dataDir: string): string {
  const words = ['up', '--enforce', '--confirm-within', '120s'];
  const { json: _, enforce: __, confirmWithin: ___, data: ____, adopt: _____, ...kept } = options;
  for (const [name, value] of Object.entries({ ...controlVariables(), ...kept })) {
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value])
      words.push(optionName(name), ...(one === true ? [] : [String(one)]));
  }
  if (process.getuid?.() === 0) return commandLine(words, { dataDir, asRoot: true });
  return commandLine([...words, '--adopt', dataDir], { asRoot: true });
}

/** On stderr, so that it is read while the start goes on and never in a script's way. */
function step({ options, startedMs, stopping }: Platform, what: string): void {
  stopping.throwIfAborted();
  if (options.json === true) return;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stderr.write(`${styled('dim', `${seconds.padStart(5)} s  ${what}`, process.stderr)}\n`);
}

/**
 * The environment of an edge: without root it can only observe, which the output says in words: what it cannot do
 * besides is no news.
 */
function edgeEnvironment(options: UpOptions): NodeJS.ProcessEnv {
  const env = controlEnvironment(options);
  return process.getuid?.() === 0 ? env : { PORTCULLIS_LOG_LEVEL: 'error', ...env };
}

async function startEdge(
  platform: Platform,
  control: ReadyFacts,
  fleet: PreparedFleet,
): Promise<Pick<Started, 'mode' | 'reason' | 'confirmWithin'>> {
  const { options, data } = platform;
  if (fleet.edge === null) {
    return { mode: 'observe', reason: 'the fleet names no edge', confirmWithin: null };
  }
  const confirmWithin = options.confirmWithin ?? null;
  // No rule may make the control plane on this host unreachable, nor lock its operator out.
  const api = { protocol: 'tcp', port: portOf(required(control, 'url')) } as const;
  const named = options.management ?? process.env['PORTCULLIS_MANAGEMENT'];
  const management = new HostManagement([api], parseManagement(named));
  const spec = edgeProcess(
    {
      ...fleet.edge,
      linkPath: required(control, 'linkSocket'),
      stateDir: data.edge,
      mode: options.enforce === true ? 'enforce' : 'observe',
      confirmWithinMs:
        confirmWithin === null ? null : parseDuration(confirmWithin, '--confirm-within'),
      ...management.now,
    },
    edgeEnvironment(options),
  );
  const edge = supervise(spec);
  const { mode, reason, trial } = await startProcess(platform, edge);
  const stop = management.watch((changed) => edge.announce(changed));
  platform.running.push({ stop: async () => stop() });
  if (mode !== 'observe') {
    // Control reports an edge without a device, also one that gets to know its devices only now.
    const until = mode === 'enforce' && reason !== '' ? (reason ?? null) : null;
    // A running trial says until when; one that was confirmed before does not begin again.
    const begins = until === null && trial !== 'confirmed';
    return { mode: 'enforce', reason: until, confirmWithin: begins ? confirmWithin : null };
  }
  const why = options.enforce === true ? (reason ?? '') : '--enforce was not given';
  return { mode: 'observe', reason: why, confirmWithin: null };
}

async function startNode(
  platform: Platform,
  control: ReadyFacts,
  { node }: PreparedFleet,
): Promise<Started['node']> {
  const { options, data } = platform;
  if (node === null) return null;
  const engine = platform.engine ?? 'both';
  const config: NodeConfig = {
    ...node,
    linkPath: required(control, 'nodeSocket'),
    stateDir: data.node,
    engine,
    ...(await engineSettings(
      options.dockerHost === undefined ? {} : { dockerHost: options.dockerHost },
    )),
    sftp: platform.sftp,
    files: null,
    // Docker supervises containers while the node is stopped; nothing supervises plain processes.
    onStop: engine === 'docker' ? 'leave' : 'end',
  };
  try {
    const spec = nodeProcess(config, controlEnvironment(options));
    const { docker = null } = await startProcess(platform, supervise(spec));
    return { name: node.name, engine, problem: null, docker };
  } catch (error) {
    // The firewall starts even if game servers cannot.
    const problem = error instanceof Error ? error.message : String(error);
    return { name: node.name, engine, problem, docker: null };
  }
}

async function startServer(
  { stopping }: Platform,
  url: string,
  { server, keys }: PreparedFleet,
): Promise<Started['server']> {
  const [key] = keys;
  if (server === null || key === undefined) return null;
  const problem = await startFirstServer({ url, key: key.key }, server.uuid, stopping);
  return { ...server, problem };
}

/** Starts a process and returns what it reports when it is ready. */
async function startProcess(
  { running }: Platform,
  supervised: SupervisedProcess,
): Promise<ReadyFacts> {
  running.push(supervised);
  return supervised.start().catch((error: unknown) => {
    throw unavailable(`the ${supervised.name} process did not start; its output is above`, error);
  });
}

function supervise(spec: ProcessSpec): SupervisedProcess {
  const env = { ...spec.env, PORTCULLIS_LOG_LEVEL: spec.env['PORTCULLIS_LOG_LEVEL'] ?? 'warn' };
  return new SupervisedProcess({ ...spec, env }, (reason, delayMs) =>
    warn(`${spec.name} ended (${reason}); starting it again in ${delayMs} ms`),
  );
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

function required(facts: ReadyFacts, name: string): string {
  const fact = facts[name];
  if (fact === undefined) throw new Error(`control did not report its ${name}`);
  return fact;
}

function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => controller.abort());
  }
  return controller.signal;
}
