import type { Command } from 'commander';
import { usageError } from './exit.ts';

/** Options of commands that call the API. */
export interface CallOptions {
  readonly url?: string;
  readonly profile?: string;
  readonly ca?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export function withCallOptions(command: Command): Command {
  return command
    .option('--url <url>', 'of the control plane (PORTCULLIS_URL, else that of the profile)')
    .option('--profile <name>', 'the profile of `portcullis login` (PORTCULLIS_PROFILE)')
    .option(
      '--ca <file|fingerprint>',
      'an authority to trust beside those of the system (PORTCULLIS_CA)',
    )
    .option('--json', 'as JSON')
    .option('--quiet', 'print only what was asked for, and errors');
}

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

/** `2026-11-21T10:00:00Z`, or with another offset; seconds may be left out. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Converts a duration before now, such as `90m`, to an ISO 8601 time, and returns such a time unchanged. */
export function parseMoment(text: string, option: string, longestMs = Infinity): string {
  const [, count, unit] = /^(\d{1,8})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (count === undefined) {
    if (MOMENT.test(text) && !Number.isNaN(Date.parse(text))) return text;
    throw usageError(
      `${option} ${text} is not a time: write how long ago, such as 90m, 12h or 7d, or a time such as 2026-11-21T10:00:00Z`,
    );
  }
  const agoMs = Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
  const moment = new Date(Date.now() - agoMs);
  if (agoMs > longestMs || Number.isNaN(moment.getTime())) {
    throw usageError(`${option} ${text} is too long ago`);
  }
  return moment.toISOString();
}
