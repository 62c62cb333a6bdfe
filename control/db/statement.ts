import { createHash } from 'node:crypto';
import pg from 'pg';

/**
 * A statement that is prepared once a connection is parsed and planned once, which nearly doubles the
 * throughput of small queries. The name is the hash of the text, so equal text is one statement.
 */
const NAMEABLE = /^\s*(?:select|insert|update|delete|with|merge)\b[^;]*$/i;

/** Statements whose text varies (lists of differing length) must not fill the server's memory. */
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
    // Defined as a value: the type of `query` is a dozen overloads, which no override could repeat.
    const original = super.query;
    Object.defineProperty(this, 'query', {
      value: (...args: unknown[]): unknown => {
        const asked: unknown = Reflect.apply(original, this, withName(args));
        return asked instanceof Promise ? asked.catch((error) => this.#giveUpStale(error)) : asked;
      },
    });
  }

  /** Leaves the pool: every connection planned its statements on its own. */
  #giveUpStale(failure: unknown): never {
    if (isStalePlan(failure)) void this.end();
    throw failure;
  }
}

/**
 * A newer replica has migrated a table under us. PostgreSQL does not plan a statement anew whose columns
 * changed, so this connection would fail for ever:
 * https://github.com/postgres/postgres/blob/REL_18_STABLE/src/backend/utils/cache/plancache.c
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
