import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createLineLog, readLogLevel } from '@portcullis/agent/log.ts';
import { describeError } from '@portcullis/core/log.ts';
import { whenSupervisorGone } from '@portcullis/link/supervisor.ts';
import { connectControl, isRemote } from '@portcullis/link/transport/connect.ts';
import { renewCredentials } from '@portcullis/agent/renewal.ts';
import { isProtected } from '@portcullis/agent/protected-mount.ts';
import { lockState, StateInUse } from '@portcullis/agent/state-lock.ts';
import type { NodeAgent } from './agent.ts';
import { type NodeConfig, readConfig } from './config.ts';
import { createNode } from './create-node.ts';
import { createApplyConfigFiles } from './config-files/apply.ts';
import { stopAll } from './server/stop-all.ts';
import { DockerEngine } from './engine/docker/docker.ts';
import { DockerClient, parseDockerHost } from './engine/docker/api/client.ts';
import { loginFile } from './engine/docker/api/registry-login.ts';
import { createGuard } from './engine/docker/network/guard.ts';
import type { Engine } from './engine/engine.ts';
import { HostEngine } from './engine/host-engine.ts';
import { ProcessEngine } from './engine/process/process.ts';
import { openProcessImages } from './process-images.ts';
import { LocalImages } from './images/local-images.ts';
import { Journal } from './journal/journal.ts';
import { serversFolder } from './server-folder/folder.ts';
import { closeStateFolder } from './server-folder/server-folders.ts';

/** Shorter than the time that a supervisor waits for a child. */
const STOP_MS = 8_000;
/** A start does not wait for a Docker that hangs. */
const FIRST_LOOK_MS = 2_000;

/**
 * The process of a node. Its servers keep running when it ends, unless `onStop` is `end`: the next agent finds them by its
 * journal and by what the engine lists.
 */
const { config, log } = readConfigAndLog();
const cancelExit = whenSupervisorGone(() => process.exit(1));
await lockState({
  agent: 'node',
  stateDir: config.stateDir,
  path: join(config.stateDir, 'agent.lock'),
}).catch((error: unknown) => {
  if (error instanceof StateInUse) giveUp(error);
  log.info(
    { error },
    'the state directory cannot be locked: another node on it would not be detected',
  );
});
cancelExit();
const agent = await startAgent();
log.info({ name: config.name, engine: config.engine }, 'started');
if (process.connected) {
  const docker = config.engine === 'both' ? await dockerVersion() : null;
  const facts = { engine: config.engine, ...(docker !== null && { docker }) };
  process.send?.({ kind: 'ready', facts });
}

/** Null: it does not answer. For the operator who starts the platform; the agent looks again by itself. */
async function dockerVersion(): Promise<string | null> {
  const client = new DockerClient(parseDockerHost(config.dockerHost), FIRST_LOOK_MS);
  try {
    return (await client.version()).engine;
  } catch {
    return null;
  } finally {
    client.close();
  }
}

function readConfigAndLog() {
  try {
    const { env } = process;
    const { stderr } = process;
    const log = createLineLog(
      'node',
      (line) => stderr.write(line),
      readLogLevel(env),
      stderr.isTTY,
    );
    return { config: readConfig(env), log };
  } catch (error) {
    return giveUp(error);
  }
}

async function startAgent(): Promise<NodeAgent> {
  try {
    const { name, linkPath, credential, stateDir } = config;
    const isRoot = process.getuid?.() === 0;
    closeStateFolder(resolve(stateDir));
    // A copy of Node.js that earlier versions made for games.
    rmSync(join(resolve(stateDir), 'images'), { recursive: true, force: true });
    const link = await connectControl({
      path: linkPath,
      agent: { kind: 'node', name },
      credential,
    });
    renewCredentials(link, log);
    const node = createNode({
      name,
      link,
      engine: openEngine(config, isRoot),
      images:
        config.engine === 'process'
          ? null
          : new LocalImages({ socketPath: parseDockerHost(config.dockerHost), log }),
      stateDir: resolve(stateDir),
      accounts: isRoot ? config.accounts : null,
      applyConfigFiles: createApplyConfigFiles(),
      sftp: config.sftp,
      files: config.files,
      mounts: config.mounts,
      openNetworks: config.openNetworks,
      closedNetworks: config.closedNetworks,
      controlSocket: isRemote(credential) ? null : linkPath,
      log,
    });
    if (isRoot) checkMount();
    node.start();
    return node;
  } catch (error) {
    return giveUp(error);
  }
}

/** The agent itself may not mount: the command that starts it does, or its unit. */
function checkMount(): void {
  const folder = serversFolder(resolve(config.stateDir));
  const hint =
    'the folders of servers are not mounted nosuid and nodev: only their closed parent keeps set-user-id programs from other accounts; "portcullis node mount", as root, mounts them';
  try {
    if (!isProtected(folder)) log.warn({ folder }, hint);
  } catch (error) {
    log.warn({ folder, error }, hint);
  }
}

function openEngine(node: NodeConfig, isRoot: boolean): Engine {
  const { engine, closedNetworks: closed } = node;
  if (closed.length > 0 && (engine === 'process' || !isRoot))
    throw new Error(
      'networks can only be closed to servers in Docker, and by a node that runs as root',
    );
  switch (engine) {
    case 'process':
      return openProcesses(node);
    case 'docker':
      return openDocker(node, isRoot);
    case 'both':
    default:
      return new HostEngine(
        openDocker(node, isRoot),
        openProcesses(node),
        Object.keys(openProcessImages()),
      );
  }
}

function openProcesses({ stateDir }: NodeConfig): ProcessEngine {
  return new ProcessEngine({ stateDir: resolve(stateDir), images: openProcessImages() });
}

function openDocker(
  {
    name,
    stateDir,
    dockerHost,
    imagePull,
    closedNetworks: closed,
    openNetworks: opened,
  }: NodeConfig,
  isRoot: boolean,
): DockerEngine {
  // Two installations on one host may use the same node name, and each removes instances that it does not know.
  const digest = createHash('sha256').update(resolve(stateDir)).digest('hex').slice(0, 12);
  return new DockerEngine({
    socketPath: parseDockerHost(dockerHost),
    owner: `${name}-${digest}`,
    guard: isRoot ? createGuard({ closed, opened }) : null,
    stateDir: resolve(stateDir),
    pull: { policy: imagePull, loginFile: loginFile() },
  });
}

/** Exits with one line for the operator instead of a stack. */
function giveUp(error: unknown): never {
  process.stderr.write(`portcullis node: ${describeError(error)}\n`);
  process.exit(1);
}

let stopping = false;
async function stop(reason: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  const stopsServers = config.onStop === 'end';
  log.info(
    { reason },
    stopsServers ? 'stopping the node and its servers' : 'stopping; servers keep running',
  );
  await agent.stop();
  if (stopsServers) {
    // The agent has closed its engine. Docker supervises containers also while the node is stopped.
    const engine =
      config.engine === 'both'
        ? openProcesses(config)
        : openEngine(config, process.getuid?.() === 0);
    await stopAll(engine, new Journal(resolve(config.stateDir), log), STOP_MS);
  }
  process.exit(0);
}
// Later signals have no effect: a service manager and a supervisor may both send one, which must not interrupt the stop.
process.on('SIGINT', () => void stop('SIGINT').catch(giveUp));
process.on('SIGTERM', () => void stop('SIGTERM').catch(giveUp));
whenSupervisorGone(() => void stop('the supervisor has exited').catch(giveUp));
