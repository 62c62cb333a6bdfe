import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { DockerEngine } from '@portcullis/node/engine/docker/docker.ts';
import { createGuard } from '@portcullis/node/engine/docker/network/guard.ts';
import type { InstanceSpec } from '@portcullis/node/engine/engine.ts';
import { BUSYBOX, importBusybox } from './docker-image.ts';
import { Dockerd, type DockerdOptions } from './dockerd.ts';

/** A dockerd with the smallest image, our engines that use it, and folders for servers. */
export interface DockerFixture {
  readonly dockerd: Dockerd;
  readonly engine: DockerEngine;
  /** The state folder of the engines; `config.json` in it is what they take for the file of docker login. */
  readonly stateDir: string;
  /** Creates another engine; with another owner, for another node. */
  open(owner?: string, callMs?: number): DockerEngine;
  /** A busybox shell script as the game, with its own folder. */
  spec(uuid: string, script: string, more?: Partial<InstanceSpec>): InstanceSpec;
  folder(uuid: string): string;
  stop(): Promise<void>;
}

/** The account that owns the servers' folders: any but root. */
export const PLAYER = { uid: 61_234, gid: 61_234 } as const;

const DEFAULTS = {
  organisation: 'acme',
  image: { reference: BUSYBOX, local: true },
  fallbackCommand: null,
  env: {},
  limits: { ...UNLIMITED, memory: 64, cpu: 100, disk: 64 },
  pidsLimit: 64,
  capabilities: [],
  ports: [],
  mounts: [],
} as const;

/** The networks of documentation, which stand for the internet in tests. */
const DOCUMENTATION = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32'];

/** The engine removes networks with their last container, so that a test sees it. */
function openEngine(
  dockerd: Dockerd,
  stateDir: string,
  owner: string,
  callMs: number,
): DockerEngine {
  const command = dockerd.namespace.command('nft');
  const guard = createGuard({ command, opened: DOCUMENTATION });
  const { socket: socketPath } = dockerd;
  const pull = { policy: 'always', loginFile: join(stateDir, 'config.json') } as const;
  return new DockerEngine({
    socketPath,
    owner,
    guard,
    stateDir,
    pull,
    callMs,
    emptyNetworkMs: 0,
  });
}

export async function startDockerFixture(
  label: string,
  options: DockerdOptions = {},
): Promise<DockerFixture> {
  const folders = mkdtempSync(join(tmpdir(), 'pcl-servers-'));
  chmodSync(folders, 0o711);
  const opened: DockerEngine[] = [];
  const dockerd = await Dockerd.start(label, options);
  const open: DockerFixture['open'] = (owner = 'node-1', callMs = 15_000) => {
    const engine = openEngine(dockerd, folders, owner, callMs);
    opened.push(engine);
    return engine;
  };
  const folder = (uuid: string): string => {
    const path = join(folders, uuid);
    mkdirSync(path, { recursive: true });
    chownSync(path, PLAYER.uid, PLAYER.gid);
    return path;
  };
  const stop = async (): Promise<void> => {
    for (const engine of opened) await engine.close();
    await dockerd.stop();
    rmSync(folders, { recursive: true, force: true });
  };
  try {
    await importBusybox(dockerd);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    dockerd,
    engine: open(),
    open,
    stateDir: folders,
    folder,
    stop,
    spec: (uuid, script, more = {}) => ({
      ...DEFAULTS,
      uuid,
      command: ['sh', '-c', script],
      folder: folder(uuid),
      ...more,
    }),
  };
}
