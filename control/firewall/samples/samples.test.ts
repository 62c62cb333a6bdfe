import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '203.0.113.10';
const X1 = `/api/x1/firewall/ips/${IP}`;
const PLAYER = '198.51.100.7';
const OTHER = '192.0.2.9';

interface Affected {
  readonly samples: number;
  readonly sources: number;
  readonly top: readonly { readonly source_ip: string; readonly port: number }[];
}
interface DryRun {
  readonly dropped: Affected;
  readonly reconnecting: Affected;
}

/** Writes samples as written by fleet/edges/drops.ts. */
async function passed(
  db: Db,
  one: {
    readonly source: string;
    readonly protocol: number;
    readonly port: number;
    readonly packets: number;
  },
): Promise<void> {
  await sql`
    insert into passed_samples (holding_id, destination, hour, protocol, destination_port, source, edge_id, packets, last_at)
    select id, ${IP}::inet, date_trunc('hour', now()), ${one.protocol}, ${one.port}, ${one.source}::inet, 1, ${one.packets}, now()
      from holdings where cidr = '203.0.113.0/24'`.execute(db);
}

async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  await passed(environment.db, { source: PLAYER, protocol: 17, port: 27_015, packets: 50 });
  await passed(environment.db, { source: OTHER, protocol: 17, port: 27_015, packets: 8 });
  await passed(environment.db, { source: OTHER, protocol: 6, port: 443, packets: 3 });
  return environment;
}

const counts = ({ dropped, reconnecting }: DryRun) =>
  [dropped, reconnecting].map(({ samples, sources }) => [samples, sources]);

test('the traffic of an address is shown by protocol and port, and to its holder only', async (t) => {
  const { acme, other } = await start(t);
  const { ports } = dataOf<{ ports: readonly Record<string, unknown>[] }>(
    await acme.get(`${X1}/traffic`),
  );
  assert.deepEqual(
    ports.map(({ protocol, port, samples, sources }) => [protocol, port, samples, sources]),
    [
      [17, 27_015, 58, 2],
      [6, 443, 3, 1],
    ],
  );
  assertRefused(await other.get(`${X1}/traffic`), 404, 'not_found');
});

test('a dry run says what rules, filters and a default would do, and changes nothing', async (t) => {
  const { acme, db } = await start(t);
  const tried = async (body: object) => {
    const reply = await acme.post(`${X1}/dry-run`, body);
    assert.equal(reply.status, 200, reply.text);
    return { ...dataOf<DryRun>(reply), message: (reply.body as { message: string }).message };
  };
  const deny = { action: 'deny', protocol: 'udp', destination_port: '27015', source_ip: PLAYER };
  const denied = await tried({ rules: [deny] });
  assert.deepEqual(counts(denied), [
    [50, 1],
    [0, 0],
  ]);
  assert.deepEqual(denied.dropped.top[0]?.source_ip, PLAYER);
  assert.match(
    denied.message,
    /^It would drop 50 samples from 1 source \(198\.51\.100\.7 to udp 27015\), of 61 .*Nothing was changed/,
  );
  const filtered = await tried({ filters: [{ type: 'source', port: '27015' }] });
  assert.deepEqual(counts(filtered), [
    [0, 0],
    [58, 2],
  ]);
  assert.match(filtered.message, /drop nothing, make 58 samples from 2 sources reconnect/);
  const allow = { action: 'allow', protocol: 'udp', destination_port: '27015' };
  const closed = await tried({ rules: [allow], default: 'deny' });
  assert.deepEqual(counts(closed), [
    [3, 1],
    [0, 0],
  ]);
  const twice = {
    filters: [
      { type: 'source', port: '27015' },
      { type: 'source', port: '27015' },
    ],
  };
  assertRefused(await acme.post(`${X1}/dry-run`, twice), 422, 'filter_exists');
  const { rows } = await sql<{ n: number }>`
    select (select count(*) from rules) + (select count(*) from filters) as n`.execute(db);
  assert.equal(rows[0]?.n, 0);
});
