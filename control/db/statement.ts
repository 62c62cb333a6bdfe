import { createHash } from 'node:crypto';
import type pg from 'pg';
import { DatabaseClient } from './client.ts';

/**
 * Prepared statements are parsed and planned once per connection, which nearly doubles the throughput of small queries.
 * The name is the hash of the text.
 */
const NAMEABLE = /^\s*(?:select|insert|update|delete|with|merge)\b[^;]*$/i;

/** Statements with varying text (lists of different length) must not fill the server's memory. */
const MAX_STATEMENTS = 1_000;
const names = new Map<string, string>();

/** Part of every name. Another one makes every connection prepare anew. */
let epoch = 0;

/** The name to prepare `text` under; null: run it unnamed. */
export function statementName(text: string): string | null {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= MAX_STATEMENTS || !NAMEABLE.test(text)) return null;
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 24);
  const name = `${hash}.${epoch}`;
  names.set(text, name);
  return name;
}

/**
 * Whether a newer replica migrated a table whose columns a prepared statement returns. PostgreSQL does not plan such a
 * statement anew, so a connection would fail with it forever. Nothing was executed; in a transaction, it is rolled back.
 * https://github.com/postgres/postgres/blob/REL_18_STABLE/src/backend/utils/cache/plancache.c
 */
export function isStalePlan(failure: unknown): boolean {
  return failure instanceof Error && failure.message === 'cached plan must not change result type';
}

/** A pg.Client that prepares what kysely sends: a text, and an array of values. */
export class PreparingClient extends DatabaseClient {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Defined as a value, because an override cannot repeat the dozen overloads of `query`.
    const original = super.query;
    Object.defineProperty(this, 'query', {
      value: (...args: unknown[]): unknown => {
        const run = (): unknown => Reflect.apply(original, this, withName(args));
        const answer = run();
        return answer instanceof Promise ? answer.catch(runAgainIfStale(run)) : answer;
      },
    });
  }
}

/**
 * Runs a statement again whose plan was stale, under another name, and has every other connection do so before it fails. In
 * a transaction that fails too, and the caller has to repeat all of it.
 */
function runAgainIfStale(run: () => unknown): (failure: unknown) => unknown {
  // Before the connection has failed: one that fails later finds that the names have changed already.
  const begun = epoch;
  return (failure) => {
    if (!isStalePlan(failure)) throw failure;
    if (begun === epoch) {
      epoch += 1;
      names.clear();
    }
    return Promise.resolve(run()).catch(() => {
      throw failure;
    });
  };
}

function withName(args: unknown[]): unknown[] {
  const [text, values, ...rest] = args;
  if (typeof text !== 'string' || !Array.isArray(values)) return args;
  const name = statementName(text);
  return name === null ? args : [{ name, text, values }, ...rest];
}
