import { setTimeout as delay } from 'node:timers/promises';
import { failed, usageError } from '../exit.ts';
import { parseDuration } from '../options.ts';
import { print, printJson } from '../output.ts';
import type { PowerOptions } from '../program/servers.ts';
import { instruct, loadBuild, loadDetail, type ServerDetail, uuidOf } from './server-api.ts';

/** Where each signal leads. */
const LEADS_TO = {
  start: 'running',
  restart: 'running',
  stop: 'offline',
  kill: 'offline',
} as const;
type Signal = keyof typeof LEADS_TO;

const LOOK_EVERY_MS = 500;
/** What a clock of the node and one of ours may differ in how long something runs. */
const CLOCK_SLACK_MS = 1_000;

/** `portcullis servers power SIGNAL SERVER`. */
export async function sendPower(
  signal: string,
  named: string,
  options: PowerOptions,
): Promise<void> {
  if (!isSignal(signal)) throw usageError(`${signal} is none of start, stop, restart and kill`);
  const timeoutMs = parseDuration(options.timeout, '--timeout');
  const uuid = await uuidOf(options, named);
  const sentMs = performance.now();
  await instruct(options, uuid, { signal });
  if (options.wait !== true) {
    if (options.json === true) printJson({ uuid, signal, ok: true });
    else print('The node took it.');
    return;
  }
  const server = await waitFor(signal, uuid, sentMs, timeoutMs, options);
  const tookMs = Math.round(performance.now() - sentMs);
  if (options.json === true)
    printJson({ uuid, signal, ok: true, state: server.state, took_ms: tookMs });
  else print(`${server.name} is ${server.state}, after ${(tookMs / 1_000).toFixed(1)} s.`);
}

function isSignal(text: string): text is Signal {
  return Object.hasOwn(LEADS_TO, text);
}

async function waitFor(
  signal: Signal,
  uuid: string,
  sentMs: number,
  timeoutMs: number,
  options: PowerOptions,
): Promise<ServerDetail> {
  const wanted = LEADS_TO[signal];
  let begun = false;
  let last: ServerDetail['state'] = null;
  for (;;) {
    const server = await loadDetail(options, uuid);
    const elapsedMs = performance.now() - sentMs;
    if (server.state !== null && server.state !== last) tell(server.state);
    last = server.state ?? last;
    if (server.state === wanted && (signal !== 'restart' || isNew(server, elapsedMs)))
      return server;
    if (wanted === 'running' && begun && server.state === 'offline') {
      const { problem } = await loadBuild(options, uuid);
      throw failed(problem ?? `it ended again: portcullis servers logs ${uuid} may say why`);
    }
    if (server.state === 'starting') begun = true;
    if (elapsedMs > timeoutMs) {
      const state = server.state ?? 'unknown: its node does not answer';
      throw failed(`it is not ${wanted} after ${timeoutMs / 1_000} s; it is ${state}`);
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** Of a restart: it runs since after the signal. */
function isNew({ resources }: ServerDetail, elapsedMs: number): boolean {
  return resources === null || resources.uptime <= elapsedMs + CLOCK_SLACK_MS;
}

/** To stderr, and only where somebody watches. */
function tell(state: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${state}\n`);
}
