import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Row } from '../report.ts';

const MEASURED_S = 30;
/** A reloaded setting reaches connections at their next statement. */
const SETTLE_MS = 2_000;

/** The statements that an idle control sends to its embedded server, counted in the server's log. */
export async function idleRow(data: string, databaseUrl: string): Promise<Row> {
  const log = join(data, 'postgres.log');
  await logStatements(databaseUrl, 'all');
  await wait(SETTLE_MS);
  const from = statSync(log).size;
  await wait(MEASURED_S * 1_000);
  const logged = readFileSync(log).subarray(from).toString('utf8');
  await logStatements(databaseUrl, 'none');
  const statements = logged.match(/LOG: +(?:execute [^:]*|statement):/g)?.length ?? 0;
  return {
    name: 'statements of an idle control',
    value: statements / MEASURED_S,
    unit: 'per second',
    baseline: null,
    goal: 3,
    goalIs: 'at most',
  };
}

async function logStatements(databaseUrl: string, which: 'all' | 'none'): Promise<void> {
  const superuser = databaseUrl.replace('portcullis_control', 'portcullis');
  const client = new pg.Client({ connectionString: superuser });
  await client.connect();
  await client.query(`alter system set log_statement = '${which}'`);
  await client.query('select pg_reload_conf()');
  await client.end();
}
