import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { dataOf, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '203.0.113.10';
const X1 = `/api/x1/firewall/ips/${IP}`;
const PREVIEW = `${X1}/default-preview`;

interface Port {
  readonly protocol: number;
  readonly port: number | null;
  readonly dropped: { samples: number; sources: number };
  readonly passed: { samples: number; sources: number };
}
interface Body {
  readonly data: { readonly default: string; readonly ports: readonly Port[] };
  readonly message: string;
  readonly meta: {
    readonly samples: number;
    readonly denied_already: number;
    readonly edges: readonly string[];
    readonly is_complete: boolean;
  };
}
const bodyOf = (reply: TestReply): Body => {
  assert.equal(reply.status, 200, reply.text);
  return reply.body as Body;
};
const short = (ports: readonly Port[]) =>
  ports.map(({ protocol, port, dropped, passed }) => [
    protocol,
    port,
    dropped.samples,
    dropped.sources,
    passed.samples,
  ]);

interface Passed {
  readonly source?: string;
  readonly protocol?: number;
  readonly port?: number;
  readonly packets: number;
  readonly hoursAgo?: number;
  readonly holding?: string;
}

/** Writes samples as written by fleet/edges/drops.ts. */
async function passed(db: Db, one: Passed): Promise<void> {
  const { source = '198.51.100.7', protocol = 17, port = 27_015, hoursAgo = 0 } = one;
  const at = sql`now() - ${hoursAgo} * interval '1 hour'`;
  await sql`
    insert into passed_samples (holding_id, destination, hour, protocol, destination_port, source, edge_id, packets, last_at)
    select id, ${IP}::inet, date_trunc('hour', ${at}), ${protocol}, ${port}, ${source}::inet, 1, ${one.packets}, ${at}
      from holdings where cidr = ${one.holding ?? '203.0.113.0/24'}::cidr`.execute(db);
}

const EDGE = sql`
  insert into edges (name, site, devices, serves, sees, fragments, management, owner)
  values ('fra1', 'fra', '{eth0}', '{0.0.0.0/0}', 'both', 'reassemble', '[]', 'fleet')`;

test('says what of the sampled packets a default of deny would drop, by port and by the present rules', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  const rules = [
    { action: 'allow', protocol: 'tcp', destination_port: '443' },
    { action: 'allow', protocol: 'udp', destination_port: '27015', source_ip: '198.51.100.0/24' },
    { action: 'deny', protocol: 'tcp', destination_port: '23' },
  ];
  dataOf(await acme.put(X1, { rules, filters: [] }));
  await passed(db, { packets: 30 });
  await passed(db, { packets: 5, hoursAgo: 3 });
  await passed(db, { packets: 12, source: '192.0.2.9' });
  await passed(db, { packets: 7, protocol: 6, port: 443 });
  await passed(db, { packets: 9, protocol: 6, port: 22 });
  await passed(db, { packets: 4, protocol: 6, port: 23 });
  await passed(db, { packets: 2, protocol: 1, port: -1 });
  const { data, message, meta } = bodyOf(await acme.get(PREVIEW));
  assert.deepEqual(short(data.ports), [
    [17, 27_015, 12, 1, 35],
    [6, 22, 9, 1, 0],
    [1, null, 2, 1, 0],
    [6, 443, 0, 0, 7],
  ]);
  assert.equal(data.default, 'accept');
  assert.match(
    message,
    /^Of 69 sampled .* drop 23: udp 27015 \(12 samples from 1 source\), tcp 22 .*icmp \(2 /,
  );
  assert.match(message, /samples, not all packets/);
  assert.partialDeepStrictEqual(meta, {
    samples: 69,
    denied_already: 4,
    edges: ['fra1'],
    is_complete: true,
  });
  assert.equal(bodyOf(await acme.get(PREVIEW)).data.default, 'accept');
});

test('says that nothing is known where no edge has sampled, of a day ago and of an earlier holder', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await passed(db, { packets: 30, hoursAgo: 26 });
  await passed(db, { packets: 30, holding: '198.51.100.10/32' });
  const { data, message } = bodyOf(await acme.get(PREVIEW));
  assert.deepEqual(data.ports, []);
  assert.match(message, /nothing is known/);
});
