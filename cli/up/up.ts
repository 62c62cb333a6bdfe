import { join } from 'node:path';
import { controlConfig, controlEnvironment } from '../commands/control.ts';
import { failed, unavailable, usageError } from '../exit.ts';
import { parseDuration } from '../options.ts';
import { warn } from '../output.ts';
import type { UpOptions } from '../program/up.ts';
import { describeStart, type Started } from './banner.ts';
import { takeDataDirectory } from './data-directory.ts';
import { edgeEnvironment, type EdgePlan, planEdge } from './edge-plan.ts';
import { withEdgeRights } from './edge-rights.ts';
import { prepareFleet } from './prepare-fleet.ts';
import { type ChildMessage, Supervised } from './supervised.ts';

const root = join(import.meta.dirname, '..', '..');
const CONTROL_MAIN = join(root, 'control', 'main.ts');
const CLI_MAIN = join(root, 'cli', 'main.ts');

/** `portcullis up`: control and an edge, each a process with only the rights it needs, until stopped. */
export async function runUp(options: UpOptions): Promise<void> {
  if (options.confirmWithin !== undefined) {
    if (options.enforce !== true)
      throw usageError('--confirm-within is about --enforce: give both');
    parseDuration(options.confirmWithin, '--confirm-within');
  }
  const config = controlConfig(options);
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
  edgeData: string,
  running: Supervised[],
): Promise<Started> {
  const control = supervise('control', CONTROL_MAIN, [], controlEnvironment(options));
  running.push(control);
  const facts = await control.start().catch((error: unknown) => {
    throw failed('control did not start; what it said stands above', error);
  });
  const databaseUrl = required(facts, 'databaseUrl');
  const fleet = await prepareFleet(databaseUrl, options);
  const plan: EdgePlan = planEdge(options, fleet.edge);
  const started: Started = { url: required(facts, 'url'), fleet, edge: plan };
  if (plan.name === null) return started;
  const edge = supervise('edge', CLI_MAIN, ['edge', '--name', plan.name], {
    ...edgeEnvironment(plan, {
      data: edgeData,
      link: required(facts, 'linkSocket'),
      url: started.url,
    }),
    ...(options.logLevel === undefined ? {} : { PORTCULLIS_LOG_LEVEL: options.logLevel }),
  });
  running.push(edge);
  await edge.start().catch((error: unknown) => {
    throw unavailable('the edge did not start; what it said stands above', error);
  });
  return started;
}

function supervise(
  name: 'control' | 'edge',
  main: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Supervised {
  const program = [main, ...args];
  const launch =
    name === 'edge'
      ? withEdgeRights(process.execPath, program)
      : { command: process.execPath, args: program };
  // Children say little on a terminal unless asked: what matters is printed here.
  const logLevel = env['PORTCULLIS_LOG_LEVEL'] ?? 'warn';
  return new Supervised(
    { name, ...launch, env: { ...env, PORTCULLIS_LOG_LEVEL: logLevel } },
    {
      onReady: () => {},
      onRestart: (why, waitMs) => warn(`${name} ended (${why}); starting it again in ${waitMs} ms`),
    },
  );
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
