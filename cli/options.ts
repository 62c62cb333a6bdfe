import type { Command } from 'commander';
import { usageError } from './exit.ts';

/** Options of commands that call the API. */
export interface ApiOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
}

export function withApiOptions(command: Command): Command {
  return command
    .option('--url <url>', 'of the control plane (PORTCULLIS_URL, default http://127.0.0.1:8080)')
    .option('--key <key>', 'API key with the needed ability (better: PORTCULLIS_API_KEY)')
    .option('--json', 'as JSON');
}

/** Options of the operator's commands, which work on the database. */
export interface DatabaseOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export function withDatabaseOptions(command: Command): Command {
  return command
    .option(
      '--data <dir>',
      'data directory of the embedded database (DATABASE_URL takes precedence)',
    )
    .option('--json', 'as JSON');
}

/** Options of commands that work with an API key, and for the operator on the database. */
export type EitherOptions = ApiOptions & DatabaseOptions;

export function withEitherOptions(command: Command): Command {
  return withApiOptions(command).option(
    '--data <dir>',
    'as the operator, on the database of this data directory (default without a key; DATABASE_URL takes precedence)',
  );
}

/** Whether the command calls the API: a named key, then a named directory, then a key of the environment decides. */
export function usesApi({ key, data }: EitherOptions): boolean {
  if (key !== undefined || data !== undefined) return key !== undefined;
  return (process.env['PORTCULLIS_API_KEY'] ?? '') !== '';
}

/** The name of the edge and of the node that the first start creates, and the default of `--name`. */
export const MANAGEMENT_HELP =
  'ports of this host that no rule may close, beside those that sshd listens on, such as tcp/22';

export const LOCAL_NAME = 'local';
/** The slug of the organisation of a first start. */
export const FIRST_ORGANISATION = 'default';

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a whole number of milliseconds up to days: `500ms`, `120s`, `2m`, `2h`. At most `longestMs`, by default a day. */
export function parseDuration(
  text: string,
  option: string,
  longestMs: number = UNITS_MS.d,
): number {
  const [, count, unit] = /^([1-9]\d{0,7})(ms|s|m|h|d)$/.exec(text) ?? [];
  const durationMs = Number(count) * UNITS_MS[(unit ?? 'ms') as keyof typeof UNITS_MS];
  if (!(durationMs <= longestMs)) {
    throw usageError(`${option} ${text} is not a time such as 120s, 2m or 500ms`);
  }
  return durationMs;
}

/** Converts a duration before now, such as `90m`, to an ISO 8601 time. Returns any other text unchanged. */
export function parseMoment(text: string, option: string, longestMs = Infinity): string {
  const [, count, unit] = /^(\d{1,8})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (count === undefined) return text;
  const agoMs = Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
  const moment = new Date(Date.now() - agoMs);
  if (agoMs > longestMs || Number.isNaN(moment.getTime())) {
    throw usageError(`${option} ${text} is too long ago`);
  }
  return moment.toISOString();
}
