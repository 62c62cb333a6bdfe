import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { DEFAULT_LIMITS } from '@portcullis/contract/schemas/declared/limits.ts';
import { type Kind, KINDS } from '../../index.ts';
import { planChanges, renderPlan } from './plan.ts';
import type { FleetState } from '../state/state.ts';
import { mustParse } from '../testing.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const NO_MARKS = { ref: null, expiresAt: null, note: null };
const EMPTY: FleetState = {
  now: NOW,
  objects: {
    organisation: [],
    asn: [],
    service: [],
    holding: [],
    key: [],
    group: [],
    'geo-rule': [],
    'blocked-list': [],
    node: [],
    baseline: [],
    edge: [],
    collector: [],
    responder: [],
    'library-egg': [],
    server: [],
  },
  elsewhere: new Map(),
};
const NOTHING = {
  thresholds: { pps: null, mbps: null, hold_seconds: null },
  mitigation: null,
  safelist: [],
};
const EXAMPLE = await readFile(new URL('../../../../examples/fleet.yaml', import.meta.url), 'utf8');

/** A plan in the form that operators review. */
function golden(name: string): Promise<string> {
  return readFile(new URL(`golden/${name}.txt`, import.meta.url), 'utf8');
}

test('golden: the example on an empty fleet', async () => {
  assert.equal(renderPlan(planChanges(mustParse(EXAMPLE), EMPTY)), await golden('example'));
});

/** acme with a prefix in use, a key, a group on the prefix, and an edge. */
const IN_USE: FleetState = {
  ...EMPTY,
  objects: {
    ...EMPTY.objects,
    organisation: [
      {
        id: 1,
        owner: 'fleet',
        object: {
          slug: 'acme',
          name: 'Acme',
          flags: ['firewall_api'],
          limits: DEFAULT_LIMITS,
          ...NOTHING,
        },
        facts: {
          externalId: null,
          asns: [64_500],
          prefixes: 1,
          services: 0,
          servers: 0,
          holdings: 1,
          madeByHand: {},
        },
      },
    ],
    asn: [
      {
        id: 64_500,
        owner: 'fleet',
        object: { asn: 64_500, organisation: 'acme' },
        facts: { isNamed: true, holders: ['acme'] },
      },
    ],
    holding: [
      {
        id: 5,
        owner: 'fleet',
        object: {
          organisation: 'acme',
          id: 5,
          prefix: '203.0.113.0/24',
          asn: 64_500,
          service: null,
          since: '2026-01-01T00:00:00+00:00',
          until: null,
          default: null,
          ...NOTHING,
        },
        facts: {
          liveObjects: 3,
          isReferenced: true,
          hasBegun: true,
          isInEffect: true,
          isPast: false,
          othersDefault: null,
          now: '2026-11-21T08:00:00+00:00',
        },
      },
    ],
    key: [
      {
        id: 9,
        owner: 'fleet',
        object: {
          organisation: 'acme',
          id: 9,
          name: 'ci',
          abilities: ['firewall.read'],
          servers: null,
          managed_servers: null,
          prefixes: null,
          sources: null,
          expires_at: null,
          secret: null,
        },
        facts: {
          hash: '00',
          hint: 'pcl_abcdef',
          createdAt: NOW,
          lastUsedAt: null,
          revokedAt: null,
          suspendedAt: null,
        },
      },
    ],
    group: [
      {
        id: 3,
        owner: 'fleet',
        object: {
          organisation: 'acme',
          name: 'g',
          rules: [],
          filters: [],
          addresses: ['203.0.113.0/24'],
        },
        facts: {
          filters: [],
          rules: [{ id: 30, action: 'deny', protocol: 'udp', source: null, port: 19, ...NO_MARKS }],
          places: [{ id: 31, holdingId: 5, target: '203.0.113.0/24' }],
        },
      },
    ],
    edge: [
      {
        id: 2,
        owner: 'fleet',
        object: {
          name: 'fra1',
          site: 'fra',
          devices: ['eth0'],
          serves: ['0.0.0.0/0', '::/0'],
          sees: 'both',
          fragments: 'reassemble',
          management: [{ protocol: 'tcp', port: 22 }],
        },
        facts: { inService: true, hostDevices: ['ens18', 'eth0', 'lo'] },
      },
    ],
  },
};

test('golden: edits of a fleet in use', async () => {
  const text = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api]
    limits: { rules_per_ip: 50 }
    asns: [64500]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, until: "2027-01-01T00:00:00Z", since: "2026-01-01T00:00:00Z" }]
    keys: [{ name: ci, abilities: [firewall.read, firewall.manage] }]
    groups: [{ name: g, rules: [{ action: deny, protocol: udp, destination_port: "17", source_ip: 192.0.2.0/24 }], addresses: [203.0.113.7] }]
edges: [{ name: fra1, site: fra, devices: [eth0, eth1], sees: inbound }]
nodes: [{ name: n }]
`;
  assert.equal(renderPlan(planChanges(mustParse(text), IN_USE)), await golden('edits'));
});

const COMMAND = {
  name: 'old',
  command: ['/usr/local/sbin/blackhole'],
  webhook: null,
  secret: null,
  prefixes: null,
  at: { pps: null, mbps: null },
  timeout_seconds: 10,
  expires_seconds: 3_600,
};

test('golden: thresholds, mitigation modes, responders and collectors that change', async () => {
  const text = `organisations:
  acme:
    name: Acme
    flags: [firewall_api]
    asns: [64500]
    thresholds: { pps: 50000, hold_seconds: 30 }
    safelist: [192.0.2.0/24]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00Z", mitigation: observe }]
    services: [{ id: 7, name: s, thresholds: { mbps: 200 }, addresses: [{ ip: 198.51.100.1, since: "2026-01-01T00:00:00Z", mitigation: off }] }]
    keys: [{ name: ci, abilities: [firewall.read] }]
    groups: [{ name: g, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [203.0.113.0/24] }]
edges: [{ name: fra1, site: fra, devices: [eth0] }]
collectors:
- { name: kept, listen: "0.0.0.0:6343", exporters: [{ ip: 192.0.2.1, sampling_rate: 1000 }] }
- { name: new, listen: "[::]:2055", exporters: [{ ip: "2001:db8::1", prefixes: [203.0.113.0/24] }], site: fra }
responders:
- { name: rtbh, command: [/usr/local/sbin/blackhole, --as, "64500"], prefixes: [203.0.113.0/24], at: { mbps: 8000 } }
- { name: scrubber, webhook: "https://scrubber.example/attacks", secret: hush }
`;
  const exporters = [{ ip: '192.0.2.1', sampling_rate: null, prefixes: 'all' }] as const;
  const collector = { listen: '0.0.0.0:6343', site: null, exporters };
  const stored = { owner: 'fleet', facts: {} } as const;
  const state: FleetState = {
    ...IN_USE,
    objects: {
      ...IN_USE.objects,
      organisation: IN_USE.objects.organisation.map((row) => ({
        ...row,
        object: { ...row.object, thresholds: { ...NOTHING.thresholds, pps: 20_000 } },
      })),
      holding: IN_USE.objects.holding.map((row) => ({
        ...row,
        object: {
          ...row.object,
          thresholds: { ...NOTHING.thresholds, pps: 9 },
          mitigation: 'off' as const,
        },
      })),
      collector: [
        { ...stored, id: 1, object: { ...collector, name: 'kept' } },
        { ...stored, id: 2, object: { ...collector, name: 'gone' } },
      ],
      responder: [
        { ...stored, id: 1, object: { ...COMMAND, name: 'rtbh', timeout_seconds: 5 } },
        { ...stored, id: 2, object: COMMAND },
      ],
    },
  };
  assert.equal(renderPlan(planChanges(mustParse(text), state)), await golden('detection'));
});

test('a group that is as the file has it changes only when the time of a rule is over', () => {
  const wordsAt = (expiresAt: string): string[] => {
    const file = mustParse(`organisations:
  acme:
    name: Acme
    asns: [64500]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00Z" }]
    groups: [{ name: g, rules: [{ action: deny, protocol: udp, destination_port: 19, expires_at: "${expiresAt}" }], addresses: [203.0.113.0/24] }]
`);
    const marks = { ...NO_MARKS, expiresAt: new Date(expiresAt) };
    const rules = [
      { id: 30, action: 'deny', protocol: 'udp', source: null, port: 19, ...marks },
    ] as const;
    const group = IN_USE.objects.group.map((row, at) => ({
      ...row,
      object: file.objects.group[at]?.object ?? row.object,
      facts: { ...row.facts, rules },
    }));
    const { changes } = planChanges(file, { ...IN_USE, objects: { ...IN_USE.objects, group } });
    return changes.filter(({ kind }) => kind === 'group').map(({ words }) => words);
  };
  assert.deepEqual(wordsAt('9999-01-01T00:00:00Z'), []);
  assert.deepEqual(wordsAt('2020-01-01T00:00:00Z'), ['- deny udp 19']);
});

test('golden: everything removed from a fleet in use', async () => {
  assert.equal(renderPlan(planChanges(mustParse(''), IN_USE)), await golden('gone'));
});

test('makes the same plan for the same file and state', () => {
  const plans = [0, 1].map(() => planChanges(mustParse(EXAMPLE), IN_USE));
  assert.deepEqual(plans[0], plans[1]);
});

test('every kind stands behind those that it refers to, because changes are made in that order', () => {
  const names: readonly string[] = KINDS.map(({ name }) => name);
  const behind = (KINDS as readonly Kind[]).flatMap(({ name, refersTo }) =>
    refersTo
      .filter(({ kind }) => names.indexOf(kind) >= names.indexOf(name))
      .map(({ kind }) => `${name} refers to ${kind}`),
  );
  assert.deepEqual(behind, []);
});
