import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { failed, usageError } from '../../exit.ts';
import type { GameServerDetail } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { connect } from '../../connect.ts';
import { type CallOptions, parseDuration, withCallOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import { findUuid } from './find.ts';

interface PowerOptions extends CallOptions {
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
  withCallOptions(
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
  const client = connect(options);
  const uuid = await findUuid(client, server);
  const sentMs = performance.now();
  await client.sendPowerSignal({ slice: uuid, body: { signal } });
  if (options.wait !== true) {
    if (options.json === true) printJson({ uuid, signal, ok: true });
    else if (options.quiet !== true) print('The node accepted it.');
    return;
  }
  const { name, state } = await waitFor(client, signal, uuid, sentMs, timeoutMs);
  const tookMs = Math.round(performance.now() - sentMs);
  if (options.json === true) printJson({ uuid, signal, ok: true, state, took_ms: tookMs });
  else print(`${name} is ${state}, after ${(tookMs / 1_000).toFixed(1)} s.`);
}

function isSignal(text: string): text is Signal {
  return Object.hasOwn(RESULTING_STATE, text);
}

async function waitFor(
  client: KeyClient,
  signal: Signal,
  slice: string,
  sentMs: number,
  timeoutMs: number,
): Promise<GameServerDetail> {
  const wanted = RESULTING_STATE[signal];
  let hasStarted = false;
  let last: GameServerDetail['state'] = null;
  for (;;) {
    const { data: server } = await client.readGameServer({ slice });
    const elapsedMs = performance.now() - sentMs;
    if (server.state !== null && server.state !== last) report(server.state);
    last = server.state ?? last;
    if (server.state === wanted && (signal !== 'restart' || hasRestarted(server, elapsedMs)))
      return server;
    if (wanted === 'running' && hasStarted && server.state === 'offline') {
      const { problem } = (await client.readGameServerBuild({ slice })).data;
      throw failed(
        problem ?? `it stopped again: "portcullis servers logs ${slice}" may show the reason`,
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
function hasRestarted({ resources }: GameServerDetail, elapsedMs: number): boolean {
  return resources === null || resources.uptime <= elapsedMs + CLOCK_SLACK_MS;
}

/** Reports progress to an interactive terminal only. */
function report(state: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${state}\n`);
}
