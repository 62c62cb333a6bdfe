import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pathNames } from '@portcullis/contract/schemas/declared/declared-kind.ts';
import { OPERATOR_PREFIX as API } from '@portcullis/contract/operator-endpoints.ts';
import { assertRefused, dataOf, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { fieldsOf } from '../fields.ts';
import { kindNamed, type KindName } from '../kinds.ts';

const HIVE = '/organisations/hive';
const DETECTION = {
  thresholds: { pps: 9, mbps: 8, hold_seconds: 7 },
  mitigation: 'observe',
  safelist: ['192.0.2.0/24'],
};
const EGG = { meta: { version: 'PTDL_v2' }, name: 'Paper', startup: 'run' };
const IMAGES = { docker_images: { 'Java 21': 'ghcr.io/yolks:java_21' } };
const RULE = { protocol: 'udp', source_ip: null };
const MARKS = { ref: null, expires_at: null, note: null };

interface Sample {
  /** The path of the object, or of the list of a kind with numbers. */
  readonly path: string;
  readonly body: object;
  /** Another value of each field. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** Fields that stay as they were made, which a change says. */
  readonly fixed?: readonly string[];
}

/** Game servers, which need an egg and a node, have tests of their own. */
const SAMPLES: Readonly<Record<Exclude<KindName, 'server'>, Sample>> = {
  organisation: {
    path: HIVE,
    body: { name: 'Hive' },
    changes: { name: 'Bees', flags: ['firewall_api'], limits: { rules_per_ip: 7 }, ...DETECTION },
  },
  asn: { path: '/asns/64999', body: {}, changes: { organisation: 'hive' } },
  node: {
    path: '/nodes/n1',
    body: {},
    changes: {
      memory: 9,
      disk: 9,
      addresses: ['192.0.2.1'],
      ports: '1-9',
      mounts: [{ name: 'm', source: '/a', target: '/b', read_only: false, eggs: ['x'] }],
      keep_days: 9,
      sftp_host: 'none',
    },
  },
  'library-egg': {
    path: '/library/paper',
    body: { document: { ...EGG, ...IMAGES } },
    changes: { document: { startup: 'other' }, source: 'none', offered: false },
  },
  service: {
    path: `${HIVE}/services/900`,
    body: { name: 's' },
    changes: {
      name: 't',
      active: false,
      managed_filters: [{ type: 'udp-stateful', ports: '9' }],
      ...DETECTION,
    },
  },
  holding: {
    path: `${HIVE}/holdings`,
    body: { prefix: '192.0.3.0/24', asn: 64_999 },
    changes: {
      prefix: '192.0.4.0/24',
      asn: null,
      service: 900,
      since: '2026-01-01T00:00:00+00:00',
      until: '2099-01-01T00:00:00+00:00',
      default: 'deny',
      ...DETECTION,
    },
    fixed: ['prefix'],
  },
  group: {
    path: `${HIVE}/groups/web`,
    body: {},
    changes: {
      rules: [{ ...RULE, action: 'deny', destination_port: '9', ...MARKS }],
      filters: [{ type: 'teeworlds', port: '9', ...MARKS }],
      addresses: ['192.0.3.0/24'],
    },
  },
  'geo-rule': {
    path: `${HIVE}/geo-rules`,
    body: { action: 'deny', countries: ['XX'], addresses: ['192.0.3.1'] },
    changes: {
      addresses: ['192.0.3.0/24'],
    },
  },
  'blocked-list': {
    path: `${HIVE}/blocked/all`,
    body: { sources: [{ source: '192.0.2.1' }] },
    changes: { sources: [{ source: '192.0.2.1/32', note: 'why', expires_at: null }] },
  },
  key: {
    path: `${HIVE}/keys`,
    body: { name: 'k', abilities: ['game-servers.read'] },
    changes: {
      name: 'l',
      abilities: ['game-servers.manage', 'game-servers.read'],
      servers: [],
      managed_servers: [],
      prefixes: [],
      sources: [],
      expires_at: '2099-01-01T00:00:00+00:00',
    },
  },
  baseline: {
    path: `/baseline/${encodeURIComponent('192.0.3.0/24')}`,
    body: { rules: [{ ...RULE, action: 'deny' }] },
    changes: { rules: [{ ...RULE, action: 'allow', destination_port: null }] },
  },
  edge: {
    path: '/edges/e1',
    body: { devices: ['a'] },
    changes: {
      site: 'none',
      devices: ['a', 'b'],
      serves: ['192.0.2.0/24'],
      sees: 'inbound',
      fragments: 'limit',
      management: [{ protocol: 'udp', port: 9 }],
    },
  },
  collector: {
    path: '/collectors/c1',
    body: { listen: '0.0.0.0:1', exporters: [{ ip: '192.0.2.1', prefixes: 'all' }] },
    changes: {
      listen: '0.0.0.0:2',
      exporters: [{ ip: '192.0.2.1', sampling_rate: 9, prefixes: ['192.0.3.0/24'] }],
      site: 'none',
    },
  },
  responder: {
    path: '/responders/r1',
    body: { webhook: 'https://a.example/', secret: 'hush' },
    changes: {
      webhook: 'https://b.example/',
      prefixes: ['192.0.3.0/24'],
      at: { pps: 9, mbps: null },
      timeout_seconds: 9,
      expires_seconds: 99,
    },
  },
};

/** Fields that are not answered, that only a file has, or whose change is another object. */
const NOT_COMPARED = new Set(['id', 'secret', 'command', 'action', 'countries', 'asns']);

async function start(t: TestContext) {
  const { client } = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await client({ organisationId: null, abilities });
  const make = async (name: string, { path, body }: Sample): Promise<string> => {
    if (kindNamed(name)?.isNumbered !== true) {
      dataOf(await operator.put(API + path, body));
      return API + path;
    }
    const { id } = dataOf<{ id: number }>(await operator.post(API + path, body));
    return `${API}${path}/${id}`;
  };
  return { operator, make };
}

/** The object of an answer as it may be sent, without what the path names. */
function sentOf(name: string, reply: TestReply): Readonly<Record<string, unknown>> {
  const { path = '', schema = {} } = kindNamed(name) ?? {};
  const names = Object.keys(fieldsOf(schema)).filter((field) => !pathNames(path).includes(field));
  const data = dataOf<Readonly<Record<string, unknown>>>(reply);
  return Object.fromEntries(
    names.flatMap((field) => (field in data ? [[field, data[field]]] : [])),
  );
}

test('a patch of any field of any kind changes it, or is refused, and what is read may be sent', async (t) => {
  const { operator, make } = await start(t);
  for (const [name, sample] of Object.entries(SAMPLES)) {
    const path = await make(name, sample);
    const fields = Object.keys(fieldsOf(kindNamed(name)?.schema ?? {}));
    const own = fields.filter((field) => !pathNames(kindNamed(name)?.path ?? '').includes(field));
    const known = own.filter((field) => !NOT_COMPARED.has(field));
    assert.deepEqual(known.toSorted(), Object.keys(sample.changes).toSorted(), name);
    for (const [field, value] of Object.entries(sample.changes)) {
      const json =
        name === 'holding' && field === 'service'
          ? { asn: null, service: value }
          : { [field]: value };
      const reply = await operator.send('PATCH', path, { json });
      if (sample.fixed?.includes(field)) {
        assertRefused(reply, 422, 'invalid_request');
        continue;
      }
      const answered = sentOf(name, reply)[field];
      assert.partialDeepStrictEqual(answered, value, `${field} of ${name}: ${reply.text}`);
      assert.notEqual(reply.headers.get('etag'), null);
    }
    const read = sentOf(name, await operator.get(path));
    const sent = await operator.put(path, read);
    if (name === 'responder') assertRefused(sent, 422, 'live_objects');
    else assert.deepEqual(sentOf(name, sent), read, name);
    assert.equal(sent.headers.get('portcullis-generation'), null, name);
  }
});
