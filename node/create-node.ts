import { readFileSync } from 'node:fs';
import type { Log } from '@portcullis/core/log.ts';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { NodeAgent } from './agent.ts';
import type { ApplyConfigFiles } from './config-files/apply.ts';
import { freeSpace } from './disk/free-space.ts';
import { createMeasureDisk, type MeasureDisk } from './disk/measure.ts';
import type { NodeConfig } from './config.ts';
import type { Engine } from './engine/engine.ts';
import type { LocalImages } from './images/local-images.ts';
import { Journal } from './journal/journal.ts';
import { Limiter } from '@portcullis/link/limiter.ts';
import type { OfferedMount } from './server/mounts.ts';
import { Server } from './server/server.ts';
import type { AccountRange } from './server-folder/account-range.ts';
import { Purges } from './server-folder/purge.ts';
import { ServerFolders } from './server-folder/server-folders.ts';

/** Limits on concurrent work: after a reboot, pulls and starts must not starve the servers that run already. */
const LAUNCHES = 4;
const BUILDS = 2;

export interface NodeOptions {
  readonly name: string;
  readonly link: AgentSide;
  readonly engine: Engine;
  /** Default: none, nothing runs in Docker. */
  readonly images?: LocalImages | null;
  /** The node's own directory: its journal, and the folders of its servers. */
  readonly stateDir: string;
  /** The range of the servers' accounts, one each; null: all run as the agent's own. */
  readonly accounts: AccountRange | null;
  readonly applyConfigFiles: ApplyConfigFiles;
  readonly log: Log;
  /** The socket of control on this host, for streams of files; default: none, control is elsewhere. */
  readonly controlSocket?: string | null;
  /** Where people connect by SFTP; default: nowhere. */
  readonly sftp?: NodeConfig['sftp'];
  /** Where links to files are served, and the URL of that; default: nowhere. */
  readonly files?: NodeConfig['files'];
  /** Folders of this host for servers that name them; default: none. */
  readonly mounts?: readonly OfferedMount[];
  /** Networks that pulls from URLs reach beside public ones, and those that they never reach; default: none. */
  readonly openNetworks?: readonly string[];
  readonly closedNetworks?: readonly string[];
  /** Names the present boot of the host; default: by the kernel. */
  readonly bootId?: string;
  readonly measurePauseMs?: number;
  /** How folders are measured; by default by walking them. */
  readonly measure?: MeasureDisk;
}

/** Creates the agent and what its servers share. Throws when the state directory cannot be used. */
export function createNode(options: NodeOptions): NodeAgent {
  const { name, link, engine, stateDir, accounts, applyConfigFiles, log, measurePauseMs } = options;
  const { mounts = [] } = options;
  const journal = new Journal(stateDir, log);
  const folders = new ServerFolders({ stateDir, journal, accounts, log });
  const shared = {
    engine,
    journal,
    log,
    stateDir,
    folders,
    applyConfigFiles,
    launches: new Limiter(LAUNCHES),
    builds: new Limiter(BUILDS),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    location: name,
    mounts,
    bootId: options.bootId ?? readBootId(),
  };
  return new NodeAgent({
    link,
    engine,
    journal,
    log,
    images: options.images ?? null,
    mounts,
    purges: new Purges(stateDir, log),
    sftp: options.sftp ? { listen: options.sftp, stateDir } : null,
    fileLinks: options.files ? linksOf(options.files) : null,
    route: { node: name, socketPath: options.controlSocket ?? null },
    openFolder: (uuid) => folders.openBuilt(uuid),
    pulls: { networks: cidrsOf(options.openNetworks), closed: cidrsOf(options.closedNetworks) },
    disk: {
      measure: options.measure ?? createMeasureDisk(),
      freeBytes: () => freeSpace(stateDir),
      ...(measurePauseMs === undefined ? {} : { pauseMs: measurePauseMs }),
    },
    createServer: (uuid, record, events) => new Server({ ...shared, ...events }, uuid, record),
  });
}

function linksOf({ host, port, url, tls }: NonNullable<NodeConfig['files']>) {
  return { listen: { host, port }, url, tls };
}

/** Throws on a text that is no network. */
function cidrsOf(networks: readonly string[] = []): Cidr[] {
  return networks.map((text) => {
    const network = parseCidr(text);
    if (!network.ok) throw new Error(`${text}: ${network.reason}`);
    return network.value;
  });
}

function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
