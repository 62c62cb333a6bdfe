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

/** A pg.Client that prepares what kysely sends: a text, and an array of values. */
export class PreparingClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Defined as a value, because an override cannot repeat the dozen overloads of `query`.
    const original = super.query;
    Object.defineProperty(this, 'query', {
      value: (...args: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(original, this, withName(args));
        return answer instanceof Promise
          ? answer.catch((error: unknown) => this.#endIfStale(error))
          : answer;
      },
    });
  }

  /**
   * Ends a connection with stale plans, so that the pool replaces it: a newer replica migrated a table. PostgreSQL does
   * not replan a statement whose columns changed, so the connection would fail forever:
   * https://github.com/postgres/postgres/blob/REL_18_STABLE/src/backend/utils/cache/plancache.c
   */
  #endIfStale(failure: unknown): never {
    if (failure instanceof Error && failure.message === 'cached plan must not change result type') {
      void this.end();
    }
    throw failure;
  }
}

function withName(args: unknown[]): unknown[] {
  const [text, values, ...rest] = args;
  if (typeof text !== 'string' || !Array.isArray(values)) return args;
  const name = statementName(text);
  return name === null ? args : [{ name, text, values }, ...rest];
}
