import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { createLineLog, readLogLevel } from '@portcullis/agent/log.ts';
import { describeError } from '@portcullis/core/log.ts';
import { connectIpc } from '@portcullis/link/transport/ipc.ts';
import { lockState, StateInUse } from '@portcullis/agent/state-lock.ts';
import type { NodeAgent } from './agent.ts';
import { type NodeConfig, readConfig } from './config.ts';
import { createNode } from './create-node.ts';
import { createApplyConfigFiles } from './config-files/apply.ts';
import { stopAll } from './server/stop-all.ts';
import { DockerEngine } from './engine/docker/docker.ts';
import { parseDockerHost } from './engine/docker/api/client.ts';
import { createGuard } from './engine/docker/network/guard.ts';
import type { Engine } from './engine/engine.ts';
import { ProcessEngine } from './engine/process/process.ts';
import { PROCESS_IMAGES } from './examples/images.ts';
import { Journal } from './journal/journal.ts';
import type { Owner } from './server-folder/folder.ts';

/** Below what a supervisor waits for a child. */
const END_WITHIN_MS = 8_000;

/** Whom games run as where the agent is root: nobody's account, so that they can touch nothing else. */
const GAMES: Owner = { uid: 25_565, gid: 25_565 };

/**
 * The process of a node. However it ends, its servers run on, unless it was told otherwise: an agent that comes after
 * finds them, by its journal and by what the engine says.
 */
const { config, log } = readEverything();
const orphaned = (): void => process.exit(1);
process.once('disconnect', orphaned);
await lockState({
  agent: 'node',
  stateDir: config.stateDir,
  path: join(config.stateDir, 'agent.lock'),
}).catch((error: unknown) => {
  if (error instanceof StateInUse) giveUp(error);
  log.info({ error }, 'another node on this state directory would not be noticed');
});
process.off('disconnect', orphaned);
const agent = begin();
log.info({ name: config.name, engine: config.engine }, 'started');
if (process.connected) process.send?.({ kind: 'ready', facts: { engine: config.engine } });

function readEverything() {
  try {
    const { env } = process;
    const log = createLineLog('node', (line) => process.stderr.write(line), readLogLevel(env));
    return { config: readConfig(env), log };
  } catch (error) {
    return giveUp(error);
  }
}

function begin(): NodeAgent {
  try {
    const { name, linkPath, credential, stateDir } = config;
    const isRoot = process.getuid?.() === 0;
    const begun = createNode({
      name,
      link: connectIpc({ path: linkPath, agent: { kind: 'node', name }, credential }),
      engine: openEngine(config, isRoot),
      stateDir: resolve(stateDir),
      owner: isRoot ? GAMES : null,
      applyConfigFiles: createApplyConfigFiles(),
      log,
    });
    begun.start();
    return begun;
  } catch (error) {
    return giveUp(error);
  }
}

function openEngine(
  { name, stateDir, engine, dockerHost, closedNetworks: closed }: NodeConfig,
  isRoot: boolean,
): Engine {
  if (closed.length > 0 && (engine === 'process' || !isRoot))
    throw new Error(
      'networks can only be closed to servers in Docker, and by a node that runs as root',
    );
  if (engine === 'process') {
    return new ProcessEngine({ stateDir: resolve(stateDir), images: PROCESS_IMAGES });
  }
  // Two installations on one host may call their node alike, and each stops what it does not know.
  const place = createHash('sha256').update(resolve(stateDir)).digest('hex').slice(0, 12);
  return new DockerEngine({
    socketPath: parseDockerHost(dockerHost),
    owner: `${name}-${place}`,
    guard: isRoot ? createGuard({ closed }) : null,
  });
}

/** One line for a person; a stack would say nothing about what is wrong on this host. */
function giveUp(error: unknown): never {
  process.stderr.write(`portcullis node: ${describeError(error)}\n`);
  process.exit(1);
}

let stopping = false;
async function stop(why: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  const ends = config.onStop === 'end';
  log.info({ why }, ends ? 'stopping, and what runs with it' : 'stopping; what runs keeps running');
  await agent.stop();
  if (ends) {
    // Of its own: the agent closed its one.
    const engine = openEngine(config, process.getuid?.() === 0);
    await stopAll(engine, new Journal(resolve(config.stateDir), log), END_WITHIN_MS);
  }
  process.exit(0);
}
// Not once: a service manager tells the agent and whoever started it, who tells it again. That must not cut its stop short.
process.on('SIGINT', () => void stop('SIGINT'));
process.on('SIGTERM', () => void stop('SIGTERM'));
process.once('disconnect', () => void stop('its supervisor is gone'));
