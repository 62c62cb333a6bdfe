import { type Db, openDatabase } from './database.ts';

/** The connections of a control process, apart by who uses them: none waits for a connection behind the others. */
export interface Pools {
  /** Requests of organisations and of strangers. */
  readonly api: Db;
  /** Agents, timers, deliveries and detection. */
  readonly agents: Db;
  /** Operators, and finding out who a request is from. */
  readonly operators: Db;
}

const OPERATORS = 4;

/** Settings that all pools of a process have. */
export function connectionsOf(poolSize: number): number {
  return 2 * poolSize + OPERATORS;
}

/** A request has ended long before: it must not hold a connection, and what it locked, for longer. */
const LOCK_TIMEOUT_MS = 8_000;

export interface PoolsOptions {
  readonly url: string;
  /** Connections of `api`, and as many of `agents`. */
  readonly poolSize: number;
  readonly onIdleError: (error: Error) => void;
}

/** They connect on first use. Each is closed by `destroy()`. */
export function openPools({ url, poolSize, onIdleError }: PoolsOptions): Pools {
  const open = (size: number, name: string, lockTimeoutMs?: number): Db =>
    openDatabase({
      url,
      poolSize: size,
      applicationName: name,
      onIdleError,
      ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
    });
  return {
    api: open(poolSize, 'portcullis', LOCK_TIMEOUT_MS),
    agents: open(poolSize, 'portcullis agents'),
    operators: open(OPERATORS, 'portcullis operators', LOCK_TIMEOUT_MS),
  };
}
