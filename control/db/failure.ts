/** Socket errors: the server is absent or went away. */
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * SQLSTATEs of temporary failures: the server starts, stops, crashed, is full or read-only, or cancelled the statement,
 * or another transaction held a lock for too long.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const NOT_NOW = new Set('57P01 57P02 57P03 57P05 57014 53300 53100 25006 55P03'.split(' '));
const CONNECTION_CLASS = '08';

/** Failures without a specific code. */
const DRIVER_MESSAGES = [
  'Connection terminated',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'timeout expired',
  'Postgres connection has been discarded',
  // A newer replica migrated the table, and a transaction that nobody repeats met it; the next one plans anew.
  'cached plan must not change result type',
];

/** The depth to which `cause` is followed, because causes can be circular. */
const MAX_DEPTH = 8;

/** Whether the database is temporarily unavailable: 503, retry later. */
export function isUnavailable(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return false;
  const code = codeOf(error);
  if (code !== null) {
    if (SOCKET_CODES.has(code) || NOT_NOW.has(code)) return true;
    if (/^[0-9A-Z]{5}$/.test(code) && code.startsWith(CONNECTION_CLASS)) return true;
    // A Unix socket whose file or folder is gone. Otherwise the code means something else.
    if ('syscall' in error && error.syscall === 'connect') return true;
  }
  if (DRIVER_MESSAGES.some((message) => error.message.startsWith(message))) return true;
  if (error instanceof AggregateError && error.errors.some((e) => isUnavailable(e, depth + 1))) {
    return true;
  }
  return isUnavailable(error.cause, depth + 1);
}

const CAUSES: Readonly<Record<string, string>> = {
  '55P03': 'Another change of the same object takes too long.',
  '53100': 'The disk of the database is full, and it takes no writes.',
  '25006': 'The database takes no writes now: it is read-only.',
  '53300': 'The database has no connection left.',
};

/** Why the database is not available, as a sentence for callers and operators. */
export function describeUnavailable(error: unknown): string {
  return describeState(error) ?? 'The database cannot be reached at the moment.';
}

/** The state of the database that fails every request, such as a full disk; null: the error says none. */
export function describeState(error: unknown, depth = 0): string | null {
  const known = CAUSES[codeOf(error) ?? ''];
  if (known !== undefined) return known;
  if (error instanceof Error && error.cause !== undefined && depth < MAX_DEPTH)
    return describeState(error.cause, depth + 1);
  return null;
}

/** The SQLSTATE or errno of an error, such as `23505`. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** The violated constraint or unique index of a refused write, such as `rules_identical`. */
export function constraintOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('constraint' in error)) return null;
  return typeof error.constraint === 'string' ? error.constraint : null;
}
