import { setTimeout as delay } from 'node:timers/promises';
import { usageError } from '../exit.ts';
import { print, printJson, shown, warn } from '../output.ts';
import type { LogsOptions } from '../program/servers.ts';
import { type ConsoleLines, loadLines, uuidOf } from './server-api.ts';

/** What the API gives in one answer. */
const MAX_LINES = 1_000;
/** A tenth of what a key may ask, unless its organisation has another limit. */
const FOLLOW_MS = 1_000;

/** `portcullis servers logs SERVER`. */
export async function showLogs(named: string, options: LogsOptions): Promise<void> {
  const count = /^[1-9]\d{0,3}$/.test(options.lines) ? Number(options.lines) : Number.NaN;
  if (!(count <= MAX_LINES)) {
    throw usageError(`--lines ${options.lines} is not a number from 1 to ${MAX_LINES}`);
  }
  const uuid = await uuidOf(options, named);
  const console = await loadLines(options, uuid, count);
  if (options.follow === true) return follow(uuid, options, console);
  const { lines } = console;
  if (options.json === true) printJson({ uuid, lines });
  else if (lines === null) print(UNKNOWN);
  else for (const line of lines) print(shown(line));
}

const UNKNOWN = 'Nobody knows: it is not provisioned, or its node does not answer.';

/** Prints what comes, until the process is interrupted or control refuses. A node that is away is waited for. */
async function follow(uuid: string, options: LogsOptions, first: ConsoleLines): Promise<void> {
  let known: ConsoleLines | null = null;
  let isAway = false;
  for (let now = first; ; now = await loadLines(options, uuid, MAX_LINES)) {
    if (now.lines === null) {
      if (!isAway) warn(UNKNOWN);
    } else {
      const { lines, isWhole } = newLines(known, now);
      if (!isWhole) warn('Lines are missing here: they came too fast, or their node began anew.');
      for (const line of lines) {
        if (options.json === true) process.stdout.write(`${JSON.stringify({ uuid, line })}\n`);
        else print(shown(line));
      }
      known = now;
    }
    isAway = now.lines === null;
    await delay(FOLLOW_MS);
  }
}

/** Those that came since; all where nothing is known of before, or where nobody counts and they changed. */
export function newLines(
  before: ConsoleLines | null,
  now: ConsoleLines,
): { readonly lines: readonly string[]; readonly isWhole: boolean } {
  const lines = now.lines ?? [];
  if (before === null) return { lines, isWhole: true };
  if (before.last_number === null || now.last_number === null) {
    const isSame = JSON.stringify(lines) === JSON.stringify(before.lines);
    return { lines: isSame ? [] : lines, isWhole: isSame };
  }
  const came = now.last_number - before.last_number;
  // Less than nothing: a clock was set back before the node began anew.
  if (came < 0 || came > lines.length) return { lines, isWhole: false };
  return { lines: came === 0 ? [] : lines.slice(-came), isWhole: true };
}
