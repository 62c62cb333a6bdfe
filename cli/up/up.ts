import { join } from 'node:path';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import { controlConfig, controlEnvironment } from '../commands/control.ts';
import { unavailable, usageError } from '../exit.ts';
import { readFleet } from '../fleet-file.ts';
import { parseDuration } from '../options.ts';
import { warn } from '../output.ts';
import type { UpOptions } from '../program/up.ts';
import { describeStart, type Started } from './banner.ts';
import { takeDataDirectory } from './data-directory.ts';
import { edgeProcess } from './edge-launch.ts';
import { prepareFleet } from './prepare-fleet.ts';
import { type ChildMessage, type ChildSpec, Supervised } from './supervised.ts';

const root = join(import.meta.dirname, '..', '..');
const CONTROL_MAIN = join(root, 'control', 'main.ts');

/** `portcullis up`: control and an edge, each a process with only the rights it needs, until stopped. */
export async function runUp(options: UpOptions): Promise<void> {
  if (options.confirmWithin !== undefined) {
    if (options.enforce !== true)
      throw usageError('--confirm-within is about --enforce: give both');
    parseDuration(options.confirmWithin, '--confirm-within');
  }
  const config = controlConfig(options);
  // Before anything starts: a mistake in the file is told at once, and leaves nothing behind.
  if (options.fleet !== undefined) await readFleet(options.fleet);
  const data = takeDataDirectory(config.dataDir);
  const stopping = stopRequested();
  const running: Supervised[] = [];
  const stopAll = async (): Promise<void> => {
    // The edge first: it says goodbye to a control plane that still listens.
    for (const part of running.toReversed()) await part.stop();
  };
  try {
    const up = bringUp({ ...options, data: data.path }, data.edge, running);
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

async function bringUp(
  options: UpOptions,
  stateDir: string,
  running: Supervised[],
): Promise<Started> {
  const control = supervise({
    name: 'control',
    command: process.execPath,
    args: [CONTROL_MAIN],
    env: controlEnvironment(options),
  });
  running.push(control);
  const facts = await control.start().catch((error: unknown) => {
    throw unavailable('control did not start; what it said stands above', error);
  });
  const url = required(facts, 'url');
  const fleet = await prepareFleet(required(facts, 'databaseUrl'), options);
  if (fleet.edge === null) {
    return { url, fleet, mode: 'observe', reason: 'the fleet names no edge', confirmWithin: null };
  }
  const confirmWithin = options.confirmWithin ?? null;
  const config: EdgeConfig = {
    name: fleet.edge,
    linkPath: required(facts, 'linkSocket'),
    stateDir,
    mode: options.enforce === true ? 'enforce' : 'observe',
    confirmWithinMs:
      confirmWithin === null ? null : parseDuration(confirmWithin, '--confirm-within'),
    // The control plane stays reachable on this host, whatever the holders of its addresses deny.
    management: [{ protocol: 'tcp', port: portOf(url) }],
  };
  const edge = supervise(edgeProcess(config, controlEnvironment(options)));
  running.push(edge);
  const { mode, reason } = await edge.start().catch((error: unknown) => {
    throw unavailable('the edge did not start; what it said stands above', error);
  });
  if (mode === 'enforce') return { url, fleet, mode, reason: null, confirmWithin };
  const why = options.enforce === true ? (reason ?? '') : '--enforce was not given';
  return { url, fleet, mode: 'observe', reason: why, confirmWithin: null };
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
