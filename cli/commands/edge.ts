import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { decideConfig } from '@portcullis/control/config/config.ts';
import { readEnvironment } from '@portcullis/control/config/env.ts';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import { failed, usageError } from '../exit.ts';
import { parseDuration } from '../options.ts';
import { warn } from '../output.ts';
import type { EdgeOptions } from '../program/edge.ts';
import { edgeProcess } from '../up/edge-launch.ts';
import { LOCAL_EDGE } from '../up/local-names.ts';

/** `portcullis edge`: the agent alone, until it ends or a signal ends it. */
export async function runEdge(options: EdgeOptions): Promise<void> {
  const config = edgeConfig(options);
  mkdirSync(config.stateDir, { recursive: true, mode: 0o700 });
  const { command, args, env } = edgeProcess(config, {
    ...process.env,
    ...(options.logLevel === undefined ? {} : { PORTCULLIS_LOG_LEVEL: options.logLevel }),
  });
  const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.on('message', (message) => {
    const { mode, reason } = message as { readonly mode?: string; readonly reason?: string | null };
    if (mode === 'observe') warn(`NOTHING IS ENFORCED: ${reason ?? 'observing was asked for'}.`);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill('SIGTERM'));
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0) throw failed(`the edge ended with ${signal ?? `exit code ${code}`}`);
}

function edgeConfig(options: EdgeOptions): EdgeConfig {
  const dataDir = dataDirectory(options);
  const link = options.link ?? readEnvironment().linkSocket;
  const within = options.confirmWithin;
  return {
    name: options.name ?? LOCAL_EDGE,
    linkPath: link === null ? join(dataDir, 'link', 'control.sock') : resolve(link),
    stateDir: join(dataDir, 'edge'),
    mode: options.observe === true ? 'observe' : 'enforce',
    confirmWithinMs: within === undefined ? null : parseDuration(within, '--confirm-within'),
    management: [],
  };
}

/** The data directory that a command on this host means: the one of `up` and of `control`. */
export function dataDirectory(options: { readonly data?: string }): string {
  const environment = readEnvironment();
  const data = options.data ?? environment.data;
  const decided = decideConfig({ ...environment, data }, { isRoot: process.getuid?.() === 0 });
  if (!decided.ok) throw usageError(decided.reason);
  return decided.value.dataDir;
}
