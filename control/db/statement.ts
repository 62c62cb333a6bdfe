import { createHash } from 'node:crypto';
import pg from 'pg';

/**
 * Prepared statements are parsed and planned once per connection, which nearly doubles the throughput of small queries.
 * The name is the hash of the text.
 */
const NAMEABLE = /^\s*(?:select|insert|update|delete|with|merge)\b[^;]*$/i;

/** Statements with varying text (lists of different length) must not fill the server's memory. */
const MAX_STATEMENTS = 1_000;
const names = new Map<string, string>();

/** The name to prepare `text` under; null: run it unnamed. */
export function statementName(text: string): string | null {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= MAX_STATEMENTS || !NAMEABLE.test(text)) return null;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
  names.set(text, name);
  return name;
}

/** At the end of a statement: the COMMIT is sent with it, before its answer. Nothing may follow in its transaction. */
export const THEN_COMMIT = '/* then commit */';
const END = /^(?:commit|rollback)$/i;
const BEGIN = /^(?:begin|start transaction)\b/i;
const NOTHING = { rows: [], fields: [], command: 'BEGIN', rowCount: null, oid: 0 };

/**
 * A pg.Client that prepares what kysely sends: a text, and an array of values. It does not wait for the answer to BEGIN,
 * which is sent with the first statement of the transaction, nor sends a COMMIT of its own after `THEN_COMMIT`: while a
 * transaction holds a lock that others wait for, a round trip is time for all of them.
 */
export class PreparingClient extends pg.Client {
  /** Why no transaction began. */
  #failure: unknown = null;
  /** The answer to a COMMIT that was sent early. */
  #ended: Promise<unknown> | null = null;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Defined as a value, because an override cannot repeat the dozen overloads of `query`.
    const original = super.query;
    Object.defineProperty(this, 'query', {
      value: (...args: unknown[]): unknown => {
        if (this.#failure !== null) return Promise.reject(this.#failure);
        const [text] = args;
        const ended = this.#ended;
        if (ended !== null && END.test(String(text))) {
          this.#ended = null;
          return ended;
        }
        const asked: unknown = Reflect.apply(original, this, withName(args));
        if (typeof text === 'string' && text.endsWith(THEN_COMMIT)) {
          this.#ended = Reflect.apply(original, this, ['commit']) as Promise<unknown>;
          this.#ended.catch(() => {});
        }
        if (asked instanceof Promise && BEGIN.test(String(args[0]))) {
          asked.catch((error: unknown) => this.#giveUp(error));
          return Promise.resolve(NOTHING);
        }
        return asked instanceof Promise ? asked.catch((error) => this.#giveUpStale(error)) : asked;
      },
    });
  }

  /** Nothing may run outside the transaction that did not begin. */
  #giveUp(failure: unknown): void {
    this.#failure = failure;
    void this.end();
  }

  /** Removes the connection from the pool, because it has stale plans. */
  #giveUpStale(failure: unknown): never {
    if (isStalePlan(failure)) void this.end();
    throw failure;
  }
}

/**
 * A newer replica migrated a table. PostgreSQL does not replan a statement whose columns changed, so this connection
 * would fail forever: https://github.com/postgres/postgres/blob/REL_18_STABLE/src/backend/utils/cache/plancache.c
 */
function isStalePlan(error: unknown): boolean {
  return error instanceof Error && error.message === 'cached plan must not change result type';
}

function withName(args: unknown[]): unknown[] {
  const [text, values, ...rest] = args;
  if (typeof text !== 'string' || !Array.isArray(values)) return args;
  const name = statementName(text);
  return name === null ? args : [{ name, text, values }, ...rest];
}
