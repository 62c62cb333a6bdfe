import { renderLogLine } from '@portcullis/core/log.ts';
import { describeState } from './db/failure.ts';
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Anything that looks like a key, also a truncated one. */
const KEY = /pcl_[0-9A-Za-z]+/g;
/** The password of a URL with credentials. */
const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/?#@"]*:)[^\s/?#"]*@/gi;
/** Credentials of an authorization header. */
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi;

/** Replaces secrets in a text: keys, passwords of URLs, credentials of headers. */
export function redact(text: string): string {
  return text
    .replace(KEY, 'pcl_[redacted]')
    .replace(URL_PASSWORD, '$1[redacted]@')
    .replace(BEARER, '$1 [redacted]');
}

const CENSORED = ['authorization', 'cookie', 'secret', 'password'];

/**
 * Logs one JSON object per line to standard error; on a terminal, words instead. Secrets never reach the destination: fields are censored by name,
 * and the finished line is redacted, including error messages and URLs.
 */
export function createLogger(options: {
  readonly level: string;
  readonly destination?: DestinationStream;
  readonly nowMs?: () => number;
}): Logger {
  const mayLog = oncePerMinute(options.nowMs ?? (() => performance.now()));
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: CENSORED.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
      serializers: { error: (error: unknown) => describeError(error) },
      hooks: {
        streamWrite: redact,
        logMethod(args, method) {
          const [fields] = args as unknown[];
          const error = isRecord(fields) ? fields['error'] : undefined;
          const why = describeState(error);
          if (why === null) return method.apply(this, args);
          const more = mayLog(why);
          // Without the stack: it says nothing of the disk, and comes with every request.
          if (more !== null) method.apply(this, [{ more }, why]);
        },
      },
    },
    options.destination ??
      (process.stderr.isTTY ? TERMINAL : pino.destination({ fd: 2, sync: true })),
  );
}

const MINUTE_MS = 60_000;

/** How many of a kind were not logged since the last that was; null: this one is not either. */
function oncePerMinute(nowMs: () => number): (kind: string) => number | null {
  const logged = new Map<string, { readonly atMs: number; more: number }>();
  return (kind) => {
    const last = logged.get(kind);
    if (last !== undefined && nowMs() - last.atMs < MINUTE_MS) {
      last.more += 1;
      return null;
    }
    logged.set(kind, { atMs: nowMs(), more: 0 });
    return last?.more ?? 0;
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

const TERMINAL: DestinationStream = {
  write(line) {
    const fields = JSON.parse(line) as { readonly msg?: string };
    process.stderr.write(`${renderLogLine('control', fields, fields.msg ?? '')}\n`);
  },
};

/** The fields of an error that are logged. Others may hold whole connections (`client` of pg). */
const LOGGED_FIELDS = [
  'code',
  'severity',
  'detail',
  'constraint',
  'table',
  'routine',
  'syscall',
  'address',
  'port',
];
const MAX_CAUSES = 8;

function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const own = LOGGED_FIELDS.flatMap((name) => {
    const value: unknown = Reflect.get(error, name);
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : [];
  });
  const inner = error instanceof AggregateError ? error.errors.slice(0, MAX_CAUSES) : [];
  return {
    type: error.constructor.name,
    message: error.message,
    stack: error.stack,
    ...Object.fromEntries(own),
    ...(depth < MAX_CAUSES && {
      ...(error.cause !== undefined && { cause: describeError(error.cause, depth + 1) }),
      ...(inner.length > 0 && { errors: inner.map((one) => describeError(one, depth + 1)) }),
    }),
  };
}
