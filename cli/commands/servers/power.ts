import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { failed, usageError } from '../../exit.ts';
import { type ApiOptions, parseDuration, withApiOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import {
  findUuid,
  loadBuild,
  loadDetail,
  sendInstruction,
  type ServerDetail,
} from '../../server-api.ts';
import { commandLine } from '../../installation/command-line.ts';

interface PowerOptions extends ApiOptions {
  readonly wait?: boolean;
  readonly timeout: string;
}

/** The state that each signal results in. */
const RESULTING_STATE = {
  start: 'running',
  restart: 'running',
  stop: 'offline',
  kill: 'offline',
} as const;
type Signal = keyof typeof RESULTING_STATE;

const POLL_MS = 500;
/** The largest expected difference between durations on the node and here. */
const CLOCK_SLACK_MS = 1_000;

export function addPower(servers: Command): void {
  withApiOptions(
    servers
      .command('power')
      .description('start, stop, restart or kill it; a killed server saves nothing')
      .argument('<signal>', 'start, stop, restart or kill')
      .argument('<server>'),
  )
    .option('--wait', 'wait until it has the resulting state')
    .option('--timeout <time>', 'how long --wait waits', '120s')
    .action(sendPower);
}

async function sendPower(signal: string, server: string, options: PowerOptions): Promise<void> {
  if (!isSignal(signal)) throw usageError(`${signal} is none of start, stop, restart and kill`);
  const timeoutMs = parseDuration(options.timeout, '--timeout');
  const uuid = await findUuid(options, server);
  const sentMs = performance.now();
  await sendInstruction(options, uuid, { signal });
  if (options.wait !== true) {
    if (options.json === true) printJson({ uuid, signal, ok: true });
    else print('The node accepted it.');
    return;
  }
  const { name, state } = await waitFor(signal, uuid, sentMs, timeoutMs, options);
  const tookMs = Math.round(performance.now() - sentMs);
  if (options.json === true) printJson({ uuid, signal, ok: true, state, took_ms: tookMs });
  else print(`${name} is ${state}, after ${(tookMs / 1_000).toFixed(1)} s.`);
}

function isSignal(text: string): text is Signal {
  return Object.hasOwn(RESULTING_STATE, text);
}

async function waitFor(
  signal: Signal,
  uuid: string,
  sentMs: number,
  timeoutMs: number,
  options: PowerOptions,
): Promise<ServerDetail> {
  const wanted = RESULTING_STATE[signal];
  let hasStarted = false;
  let last: ServerDetail['state'] = null;
  for (;;) {
    const server = await loadDetail(options, uuid);
    const elapsedMs = performance.now() - sentMs;
    if (server.state !== null && server.state !== last) report(server.state);
    last = server.state ?? last;
    if (server.state === wanted && (signal !== 'restart' || hasRestarted(server, elapsedMs)))
      return server;
    if (wanted === 'running' && hasStarted && server.state === 'offline') {
      const { problem } = await loadBuild(options, uuid);
      throw failed(
        problem ??
          `it stopped again: ${commandLine(['servers', 'logs', uuid], { url: options.url })} may show the reason`,
      );
    }
    if (server.state === 'starting') hasStarted = true;
    if (elapsedMs > timeoutMs) {
      const state = server.state ?? 'unknown: its node does not answer';
      throw failed(`it is not ${wanted} after ${timeoutMs / 1_000} s; it is ${state}`);
    }
    await delay(POLL_MS);
  }
}

/** Returns whether the process started after the signal. */
function hasRestarted({ resources }: ServerDetail, elapsedMs: number): boolean {
  return resources === null || resources.uptime <= elapsedMs + CLOCK_SLACK_MS;
}

/** Reports progress to an interactive terminal only. */
function report(state: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${state}\n`);
}
