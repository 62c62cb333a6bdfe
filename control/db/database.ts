import { Kysely, PostgresDialect, type Selectable, type Transaction } from 'kysely';
import pg from 'pg';
import type { Schema } from './generated/tables.ts';
import { PreparingClient } from './statement.ts';

export type Db = Kysely<Schema>;
export type Tx = Transaction<Schema>;
/** A pool or a transaction that no transaction can be opened by. */
export type Reader = Omit<Db, 'transaction' | 'startTransaction' | 'connection' | 'destroy'>;
export type Organisation = Selectable<Schema['organisations']>;
export type ApiKey = Selectable<Schema['api_keys']>;

export interface DatabaseOptions {
  /** A PostgreSQL URL in any form of libpq, see `parseServerUrl`. */
  readonly url: string;
  /** Connections at most; default 10. */
  readonly poolSize?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** How long a statement may wait for a lock; default: as long as it may run. */
  readonly lockTimeoutMs?: number;
  /** Idle connections do not keep the process alive. */
  readonly idleExit?: boolean;
  /** Called when an idle connection broke; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void;
}

/** Timeouts of a connection and of a statement; beyond them callers get 503. */
const CONNECT_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 60_000;

/** Opens a pool. It connects on first use, survives a killed server, and is closed by `destroy()`. */
export function openDatabase(options: DatabaseOptions): Db {
  const pool = new pg.Pool({
    ...connectionConfig(options.url, options.applicationName ?? 'portcullis'),
    Client: PreparingClient,
    max: options.poolSize ?? 10,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: options.idleExit ?? false,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
  });
  pool.on('error', (error) => options.onIdleError?.(error));
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}

/** The settings of every connection. */
export function connectionConfig(url: string, applicationName: string): pg.ClientConfig {
  return {
    connectionString: url,
    // Compiling takes 300 ms where PostgreSQL comes with LLVM (Debian's does), and no query here runs long enough to win
    // that back. Options in the URL replace these.
    options: '-c jit=off',
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
}

const { builtins } = pg.types;
/** In the form `{1,2}`, without nulls. */
const INT8_ARRAY = 1016;

/** The extreme values of Date stand for PostgreSQL's infinities. */
const LAST_MOMENT_MS = 8.64e15;

const parseTimestamp: (text: string) => unknown = pg.types.getTypeParser(builtins.TIMESTAMPTZ);

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is past 2^53`);
  return value;
}

function parseInt8Array(text: string): number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(parseInt8);
}

function parseMoment(text: string): unknown {
  if (text === 'infinity') return new Date(LAST_MOMENT_MS);
  if (text === '-infinity') return new Date(-LAST_MOMENT_MS);
  return parseTimestamp(text);
}

/** Parsers per connection, instead of changing the driver's global ones. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: unknown) => {
  if (format === 'binary') return pg.types.getTypeParser(oid, 'binary');
  if (oid === builtins.INT8) return parseInt8;
  if (oid === INT8_ARRAY) return parseInt8Array;
  if (oid === builtins.TIMESTAMPTZ) return parseMoment;
  return pg.types.getTypeParser(oid, 'text');
};
