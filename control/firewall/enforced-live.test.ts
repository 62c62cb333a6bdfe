import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { expireLeases } from '../fleet/edges/store.ts';
import { serveEdges, TestEdge } from '../fleet/test-edge.ts';
import { insertEdge } from '../fleet/testing.ts';
import type { TestReply } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';

const X1 = '/api/x1/firewall/ips';
const IP = '203.0.113.10';
const LEASE_MS = 60_000;

interface Edge {
  readonly db: Db;
  readonly edge: TestEdge;
}

/** The state of the only edge before and after a rule is written. */
interface Case {
  readonly serves?: readonly string[];
  readonly before?: (at: Edge) => Promise<void>;
  readonly after?: (at: Edge) => Promise<void>;
  /** The kernel of an edge that enforces, by a device that is there, has confirmed the rule. */
  readonly live: boolean;
  /** An event stays true when its edge loses its device later. */
  readonly event?: boolean;
}

const joins = ({ edge }: Edge): Promise<void> => edge.join();
const confirms = async ({ edge }: Edge): Promise<void> => {
  await edge.sync();
  await edge.confirm();
};
const device = { kind: 'veth', xdp: 'native', reason: null, master: null } as const;

const CASES: Readonly<Record<string, Case>> = {
  'no edge': { live: false },
  observing: {
    before: async ({ edge }) => void (await edge.hello('observe')),
    after: confirms,
    live: false,
  },
  'no device': {
    before: async ({ edge }) => void (await edge.hello('no_device')),
    after: confirms,
    live: false,
  },
  'the device went before the write': {
    before: async (at) => {
      await joins(at);
      await at.edge.beat('no_device');
    },
    after: confirms,
    live: false,
  },
  'the device went after the confirmation': {
    before: joins,
    after: async (at) => {
      await confirms(at);
      await at.edge.beat('no_device');
    },
    live: false,
    event: true,
  },
  'some devices absent': {
    before: async (at) => {
      await joins(at);
      await at.edge.beat('enforce', {
        devices: [
          { ...device, name: 'eth0', present: true, receives: true },
          { ...device, name: 'eth1', present: false, receives: false },
        ],
      });
    },
    after: confirms,
    live: true,
  },
  'left service, enforcing what it has': {
    before: joins,
    after: async (at) => {
      await confirms(at);
      await sql`update edges set last_seen_at = now() - interval '2 minutes'`.execute(at.db);
      await expireLeases(at.db, LEASE_MS);
    },
    live: true,
  },
  behind: { before: joins, live: false },
  confirmed: { before: joins, after: confirms, live: true },
  'enforcing elsewhere': {
    serves: ['192.0.2.0/24'],
    before: joins,
    after: confirms,
    live: false,
  },
};

for (const [name, { serves, before, after, live, event = live }] of Object.entries(CASES)) {
  test(`live is what an edge enforces: ${name}`, async (t) => {
    const { db, acme } = await startEnvironment(t);
    if (name !== 'no edge') await insertEdge(db, 'a', serves);
    const at = { db, edge: new TestEdge(serveEdges(db).link, 'a', 'a1') };
    await before?.(at);
    const written = await acme.post(`/api/v1/firewall/ips/${IP}/rules`, {
      action: 'deny',
      protocol: 'any',
    });
    assert.equal(written.status, 201);
    const generation = Number(written.headers.get('portcullis-generation'));
    await after?.(at);

    const { body, headers } = await acme.get(`${X1}/${IP}`);
    const { data, meta } = body as Accepted;
    const listed = await acme.get(X1);
    const isLive = (number: string | number | null): boolean =>
      number !== null && Number(number) >= generation;
    const said = {
      status: data.rules[0]?.status === 'live',
      meta: isLive(meta.live_generation),
      header: isLive(headers.get('portcullis-generation')),
      list: isLive(listed.headers.get('portcullis-generation')),
      explain: (await explained(acme, 'live')).data.verdict === 'drop',
      event:
        (await db.selectFrom('events').select('id').where('kind', '=', 'write.live').execute())
          .length > 0,
    };
    const all = { status: live, meta: live, header: live, list: live, explain: live, event };
    assert.deepEqual(said, all);
    const isEnforced = meta.enforcement !== 'none';
    assert.equal(isEnforced, meta.live_generation !== null);
    const { differences } = (await explained(acme, 'accepted')).data;
    assert.equal(
      differences.some((each) => each.startsWith('No edge enforces rules')),
      !isEnforced,
    );
    assert.equal(
      (written.body as { message: string }).message.includes('no edge enforces'),
      ENFORCING_NOTHING_AT_WRITE.has(name),
    );
  });
}

/** Where the answer of the write says that nothing is enforced. */
const ENFORCING_NOTHING_AT_WRITE: ReadonlySet<string> = new Set([
  'no edge',
  'observing',
  'no device',
  'the device went before the write',
  'enforcing elsewhere',
]);

interface Accepted {
  readonly data: { readonly rules: readonly { readonly status: string }[] };
  readonly meta: { readonly live_generation: number | null; readonly enforcement: string };
}
interface Explained {
  readonly data: { readonly verdict: string; readonly differences: readonly string[] };
}

async function explained(
  client: { post(path: string, body: object): Promise<TestReply> },
  view: 'accepted' | 'live',
): Promise<Explained> {
  const packet = { protocol: 'tcp', source_ip: '198.51.100.7', destination_port: 80, view };
  return (await client.post(`${X1}/${IP}/explain`, packet)).body as Explained;
}

test('defaults, blocked sources and groups say that no edge enforces, and only then', async (t) => {
  const { acme, db, session } = await startEnvironment(t);
  const messages = async (port: string): Promise<string[]> => {
    const replies = [
      await acme.put('/api/x1/firewall/defaults', {
        target: IP,
        default: port === '1' ? 'deny' : null,
      }),
      await acme.post('/api/x1/firewall/blocked', { sources: [`198.51.100.${port}`], target: IP }),
      await session('owner').post('/api/portal/organisations/acme/groups', {
        name: `group ${port}`,
        rules: [],
        filters: [],
        targets: [IP],
      }),
    ];
    return replies.map(({ body, text, status }) => {
      assert.ok(status < 300, text);
      return (body as { message: string }).message;
    });
  };
  for (const message of await messages('1')) assert.match(message, /no edge enforces rules for/);
  await insertEdge(db, 'fra1');
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'fra1', 'one');
  await edge.join();
  for (const message of await messages('2')) assert.doesNotMatch(message, /no edge enforces/);
});
