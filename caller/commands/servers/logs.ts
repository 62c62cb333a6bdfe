import { setTimeout as delay } from 'node:timers/promises';
import { type ConsoleReading, newLines } from '@portcullis/core/game-servers/console-lines.ts';
import type { Command } from 'commander';
import { usageError } from '../../exit.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { connect } from '../../connect.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printable, printJson, warn } from '../../output.ts';
import { findUuid } from './find.ts';

interface LogsOptions extends CallOptions {
  readonly lines: string;
  readonly follow?: boolean;
}

/** The largest number of lines in one response of the API. */
const MAX_LINES = 1_000;
/** A tenth of the default request limit of a key. */
const FOLLOW_MS = 1_000;

export function addLogs(servers: Command): void {
  withCallOptions(
    servers.command('logs').description('the last lines of its console').argument('<server>'),
  )
    .option('--lines <count>', 'how many, up to 1000', '100')
    .option('--follow', 'then print new lines until interrupted; with --json one document per line')
    .action(showLogs);
}

async function showLogs(server: string, options: LogsOptions): Promise<void> {
  const count = /^[1-9]\d{0,3}$/.test(options.lines) ? Number(options.lines) : Number.NaN;
  if (!(count <= MAX_LINES)) {
    throw usageError(`--lines ${options.lines} is not a number from 1 to ${MAX_LINES}`);
  }
  const client = connect(options);
  const uuid = await findUuid(client, server);
  const load = (lines: number): Promise<ConsoleReading> => loadLines(client, uuid, lines);
  const console = await load(count);
  if (options.follow === true) return follow(uuid, options, console, load);
  const { lines } = console;
  if (options.json === true) printJson({ uuid, lines });
  else if (lines === null) print(UNKNOWN);
  else for (const line of lines) print(printable(line));
}

async function loadLines(client: KeyClient, slice: string, lines: number): Promise<ConsoleReading> {
  return (await client.readConsole({ slice, query: { lines } })).data;
}

const UNKNOWN = 'Unknown: the server is not provisioned, or its node does not answer.';

/** Prints new lines until the process is interrupted or control refuses. Continues while the node does not answer. */
async function follow(
  uuid: string,
  options: LogsOptions,
  first: ConsoleReading,
  load: (lines: number) => Promise<ConsoleReading>,
): Promise<void> {
  let known: ConsoleReading | null = null;
  let isAway = false;
  for (let now = first; ; now = await load(MAX_LINES)) {
    if (now.lines === null) {
      if (!isAway) warn(UNKNOWN);
    } else {
      const { lines, isComplete } = newLines(known, now);
      if (!isComplete) warn('Lines are missing here: there were too many, or the node restarted.');
      for (const line of lines) {
        if (options.json === true) process.stdout.write(`${JSON.stringify({ uuid, line })}\n`);
        else print(printable(line));
      }
      known = now;
    }
    isAway = now.lines === null;
    await delay(FOLLOW_MS);
  }
}
