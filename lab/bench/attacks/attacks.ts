import { sql } from 'kysely';
import { createHistory } from '@portcullis/control/attacks/history/index.ts';
import type { Key } from '@portcullis/control/access/index.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { loadMigrations, migrate } from '@portcullis/control/db/migrate.ts';
import { startTestCluster } from '@portcullis/control/db/testing.ts';
import { ATTACKS, fillAttacks } from './attacks-fixture.ts';
import { quantile } from '../measure.ts';
import type { Bench, Row } from '../report.ts';

const RUNS = 100;

interface Asked {
  readonly name: string;
  readonly organisation: number;
  readonly query: Readonly<Record<string, string | number | boolean>>;
  /** Lower where a request counts a million rows. */
  readonly runs?: number;
}

const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();

const LARGE = 'of an organisation with 1,000,000 attacks';
const SMALL = 'of an organisation with 9,000 attacks';

function asked(): readonly Asked[] {
  const all = { from: ago(89), to: ago(0) };
  return [
    { name: `the last day, ${SMALL}`, organisation: 2, query: {} },
    { name: `the last day, ${LARGE}`, organisation: 1, query: {} },
    { name: `90 days, ${SMALL}`, organisation: 2, query: all },
    { name: `90 days, ${LARGE}`, organisation: 1, query: all, runs: 20 },
    { name: `page 200 of 90 days, ${SMALL}`, organisation: 2, query: { ...all, page: 200 } },
    { name: `page 5,000 of 90 days, ${LARGE}`, organisation: 1, query: { ...all, page: 5_000 } },
    {
      name: `one address over 90 days, ${LARGE}`,
      organisation: 1,
      query: { ...all, ip: '10.0.7.9' },
    },
    {
      name: `a /28 over 90 days, ${LARGE}`,
      organisation: 1,
      query: { ...all, prefix: '10.0.7.0/28' },
    },
    { name: `what goes on, ${LARGE}`, organisation: 1, query: { ongoing: true } },
    { name: `what goes on, ${SMALL}`, organisation: 2, query: { ongoing: true } },
  ];
}

/** How long operation 11 takes with ten million attacks, beside a row found by its primary key. */
export const attacksBench: Bench = {
  name: 'attacks',
  missing: () => null,
  async run(say) {
    const cluster = await startTestCluster();
    const db = openDatabase({ url: cluster.url, poolSize: 2 });
    try {
      await migrate(db, await loadMigrations());
      await fillAttacks(db, say);
      return await measureAll(db);
    } finally {
      await db.destroy();
      await cluster.stop();
    }
  },
};

async function measureAll(db: Db): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, organisation, query, runs = RUNS } of asked()) {
    const took: number[] = [];
    const least: number[] = [];
    let total = 0;
    for (let run = 0; run <= runs; run++) {
      // Anew: what was counted is not remembered.
      const { handlers } = createHistory({ publicUrl: 'https://portcullis.example' });
      const call = callOf(organisation, query);
      const began = performance.now();
      const { body } = await handlers.listAttacks(call, db);
      if (run > 0) took.push(performance.now() - began);
      total = (body as { meta: { total: number } }).meta.total;
      const beganKey = performance.now();
      await sql`select * from organisations where id = ${organisation}`.execute(db);
      if (run > 0) least.push(performance.now() - beganKey);
    }
    const what = `${name}, ${total} in the list`;
    const row = (share: number, label: string): Row => ({
      name: `${label} of ${what} (baseline: a row by its primary key)`,
      value: quantile(took, share),
      unit: 'ms',
      baseline: quantile(least, share),
      goal: null,
    });
    rows.push(row(0.5, 'p50'), row(0.99, 'p99'));
  }
  const { rows: counted } = await sql<{ count: number }>`
    select reltuples::bigint as count from pg_class where oid = 'attacks'::regclass`.execute(db);
  rows.push({
    name: 'attacks in the table',
    value: counted[0]?.count ?? ATTACKS,
    unit: 'rows',
    baseline: null,
    goal: null,
  });
  return rows;
}

type ListCall = Parameters<ReturnType<typeof createHistory>['handlers']['listAttacks']>[0];

function callOf(organisationId: number, query: Asked['query']): ListCall {
  const limits = {
    rulesPerIp: 100,
    filtersPerIp: 25,
    maxPortsPerRequest: 101,
    attackHistoryDays: 90,
    configuredAddresses: 10_000,
    requestsPerMinute: 600,
  };
  const organisation = {
    id: organisationId,
    slug: 'x',
    name: 'x',
    flags: new Set<never>(),
    limits,
  };
  const by: Key = {
    kind: 'key',
    keyId: 1,
    keyName: 'bench',
    organisationId,
    organisation,
    abilities: new Set(['attacks.read']),
    prefixes: null,
    servers: null,
    managedServers: null,
  };
  return {
    by,
    params: {},
    requestId: 'bench',
    source: null,
    userAgent: null,
    body: null,
    query,
    ifMatch: null,
    ifNoneMatch: null,
    lastEventId: null,
    range: null,
    ifRange: null,
    isHead: false,
    bytes: null,
    cookies: undefined,
    afterCommit: () => {},
    endsRights: () => {},
  };
}
