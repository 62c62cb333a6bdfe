import { statfs } from 'node:fs/promises';
import type { Log } from '@portcullis/core/log.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { NodeAgent } from './agent.ts';
import type { ApplyConfigFiles } from './config-files/apply.ts';
import { createMeasureDisk } from './disk/measure.ts';
import type { Engine } from './engine/engine.ts';
import { Journal } from './journal/journal.ts';
import { Limiter } from './server/limiter.ts';
import { Server } from './server/server.ts';
import type { Owner } from './server-folder/folder.ts';

/** Pulls and starts of a host that came up again must not starve what runs already. */
const LAUNCHES = 4;
const BUILDS = 2;
const SLOW_START_MS = 5 * 60_000;

export interface NodeOptions {
  readonly name: string;
  readonly link: AgentSide;
  readonly engine: Engine;
  /** The node's own: its journal, and the folders of its servers. */
  readonly stateDir: string;
  readonly owner: Owner | null;
  readonly applyConfigFiles: ApplyConfigFiles;
  readonly log: Log;
  readonly slowStartMs?: number;
  readonly compareMs?: number;
  readonly measurePauseMs?: number;
}

/** The agent and what its servers share. Throws when the state directory cannot be used. */
export function createNode(options: NodeOptions): NodeAgent {
  const { name, link, engine, stateDir, owner, applyConfigFiles, log } = options;
  const { compareMs, measurePauseMs } = options;
  const journal = new Journal(stateDir, log);
  const shared = {
    engine,
    journal,
    log,
    stateDir,
    owner,
    applyConfigFiles,
    launches: new Limiter(LAUNCHES),
    builds: new Limiter(BUILDS),
    slowStartMs: options.slowStartMs ?? SLOW_START_MS,
    nowMs: Date.now,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    location: name,
  };
  return new NodeAgent({
    link,
    engine,
    journal,
    log,
    measureDisk: createMeasureDisk(),
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(stateDir);
      return bavail * bsize;
    },
    ...(compareMs === undefined ? {} : { compareMs }),
    ...(measurePauseMs === undefined ? {} : { measurePauseMs }),
    createServer: (uuid, kept, on) => new Server({ ...shared, ...on }, uuid, kept),
  });
}
