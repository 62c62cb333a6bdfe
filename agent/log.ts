import { describeError, type Log, renderLogLine } from '@portcullis/core/log.ts';

const LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const;
type Level = keyof typeof LEVELS;

/** The lowest level that is written; the names are those of control's logger. */
const THRESHOLDS = { trace: 10, ...LEVELS, fatal: 60, silent: Infinity } as const;
export type Threshold = keyof typeof THRESHOLDS;

/**
 * One JSON object a line, shaped as control's; `name` says which agent. On a terminal, words instead. Nothing secret may
 * be logged.
 */
export function createLineLog(
  name: 'edge' | 'node' | 'collector',
  write: (line: string) => void,
  lowest: Threshold = 'info',
  isTerminal = false,
): Log {
  const at =
    (level: Level) =>
    (fields: object, message: string): void => {
      if (LEVELS[level] < THRESHOLDS[lowest]) return;
      if (isTerminal) return write(`${renderLogLine(name, fields, message)}\n`);
      const time = new Date().toISOString();
      const line = { level, time, name, ...shown(fields) };
      write(`${JSON.stringify({ ...line, msg: message })}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Reads `PORTCULLIS_LOG_LEVEL`, as control does. Throws on an unknown level. */
export function readLogLevel(env: Readonly<Record<string, string | undefined>>): Threshold {
  const text = (env['PORTCULLIS_LOG_LEVEL'] ?? '').trim();
  if (text === '') return 'info';
  const level = Object.keys(THRESHOLDS).find((one) => one === text);
  if (level !== undefined) return level as Threshold;
  throw new Error(
    `PORTCULLIS_LOG_LEVEL: "${text}" is none of ${Object.keys(THRESHOLDS).join(', ')}`,
  );
}

function shown(fields: object): object {
  const entries = Object.entries(fields).map(([key, value]: [string, unknown]) => [
    key,
    value instanceof Error ? describeError(value) : value,
  ]);
  return Object.fromEntries(entries) as object;
}
