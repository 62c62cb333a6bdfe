import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import { checkFleet, parseFleet } from './parse.ts';
import { mistakesOf, mustParse } from '../testing.ts';

function mistakes(text: string, env: Record<string, string> = {}): string[] {
  const checked = checkFleet(text, 'fleet.yaml', env);
  return mistakesOf(checked.ok ? parseFleet(checked, 'fleet.yaml') : checked);
}

const ACME = (body: string) => `organisations:
  acme:
    name: Acme
    asns: [64500]
${body}
`;

const CASES: readonly (readonly [name: string, text: string, expected: readonly RegExp[]])[] = [
  [
    'an unknown field, with those there are',
    ACME('    nmae: x'),
    [/^5:5 There is no field "nmae" in acme; there are name, flags/],
  ],
  ['a duplicate field', ACME('    name: Other'), [/^5:5 The field "name" is here twice/]],
  [
    'a missing field',
    'organisations:\n  acme:\n    asns: [1]\n',
    [/^3:5 The field "name" is missing in acme/],
  ],
  ['a wrong type', ACME('    prefixes: no'), [/^5:15 Prefixes must be a list/]],
  [
    'a short name that is none',
    'organisations:\n  ACME:\n    name: x\n',
    [/^2:3 "ACME" is no short name/],
  ],
  [
    'host bits, with the network probably meant',
    ACME('    prefixes: [{ cidr: 203.0.113.7/24, asn: 64500 }]'),
    [/^5:24 .*host bits.*203\.0\.113\.0\/24/],
  ],
  [
    'an ASN that is not listed',
    ACME('    prefixes: [{ cidr: 203.0.113.0/24, asn: 64501 }]'),
    [/^5:45 AS64501 is neither the organisation's nor the operator's: list it in asns/],
  ],
  [
    'an ability whose flag is off',
    ACME('    keys: [{ name: k, abilities: [firewall.read] }]'),
    [/^5:35 firewall\.read needs the flag firewall_api/],
  ],
  [
    'an ability that is none',
    ACME('    keys: [{ name: k, abilities: [fly] }]'),
    [/^5:35 "fly" is no ability; there are firewall\.read/],
  ],
  [
    'equal holdings at one time',
    ACME(
      '    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500 }, { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00Z" }]',
    ),
    [/^5:54 203\.0\.113\.0\/24 is held by acme at the same time/],
  ],
  [
    'a moment without an offset',
    ACME('    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00" }]'),
    [/^5:59 .*is no moment: write it with an offset/],
  ],
  [
    'a day that is not',
    ACME('    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-02-30T00:00:00Z" }]'),
    [/is no moment/],
  ],
  [
    'a moment whose year in UTC has not four digits',
    ACME(
      '    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "0001-01-01T00:00:00+01:00" }, { cidr: 203.0.114.0/24, asn: 64500, since: "9999-12-31T23:59:59-01:00" }]\n    groups: [{ name: g, rules: [{ action: deny, protocol: udp, destination_port: 1, expires_at: "9999-12-31T23:59:59-01:00" }] }]',
    ),
    [/^5:59 .*not in the years 1 to 9999/, /^5:133 .*not in the years/, /^6:97 Is a time/],
  ],
  [
    'a text that no database takes',
    ACME(
      '    blocked_sources: [{ sources: [192.0.2.1], note: "a\\0" }, { sources: [192.0.2.2], note: "\\ud800" }]',
    ),
    [/^5:53 .*no database takes/, /^5:92 .*no database takes/],
  ],
  [
    'an end before the beginning',
    ACME(
      '    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" }]',
    ),
    [/must end after it began/],
  ],
  [
    'ports with gre',
    ACME(
      '    groups: [{ name: g, rules: [{ action: deny, protocol: gre, destination_port: 1 }] }]',
    ),
    [/^5:82 Gre has no ports/],
  ],
  [
    'all ports at once',
    ACME(
      '    groups: [{ name: g, rules: [{ action: deny, protocol: tcp, destination_port: "1-65535" }] }]',
    ),
    [/names 65535 ports, and at most 101/],
  ],
  [
    'ten thousand commas',
    ACME(
      `    groups: [{ name: g, rules: [{ action: deny, protocol: tcp, destination_port: "${','.repeat(10_000)}" }] }]`,
    ),
    [/at most 2000 characters/],
  ],
  [
    'a rule twice',
    ACME(
      '    groups: [{ name: g, rules: [{ action: deny, protocol: tcp, destination_port: "1-3" }, { action: deny, protocol: tcp, destination_port: 2 }] }]',
    ),
    [/repeats a rule/],
  ],
  [
    'all of one family in a group',
    ACME(
      '    groups: [{ name: g, rules: [{ action: deny, protocol: any, source_ip: 0.0.0.0/0 }] }]',
    ),
    [/Leave source_ip out/],
  ],
  [
    'a filter that is none',
    ACME('    groups: [{ name: g, filters: [{ type: magic, port: 1 }] }]'),
    [/There is no filter "magic"; there are .*teeworlds.*udp-stateful/],
  ],
  [
    'a country that is none',
    ACME('    geo_rules: [{ action: deny, countries: [UK], addresses: [192.0.2.1] }]'),
    [/^5:45 "UK" is no country code of ISO 3166-1 alpha-2; GB was probably meant/],
  ],
  [
    'a geo rule without a place',
    ACME('    geo_rules: [{ action: deny, addresses: [192.0.2.1] }]'),
    [/names countries or ASNs/],
  ],
  [
    'a key that is none, without quoting it',
    ACME('    keys: [{ name: k, abilities: [game-servers.read], secret: hunter2hunter2 }]'),
    [/^5:63 This is no key: (?!.*hunter2)/],
  ],
  [
    'an edge without a device',
    'edges: [{ name: a, devices: [] }]',
    [/^1:29 Devices must name at least 1/],
  ],
  [
    'an edge twice',
    'edges:\n- { name: a, devices: [x] }\n- { name: a, devices: [y] }',
    [/^3:11 The edge a is here twice/],
  ],
  [
    'a game server of nobody',
    'game_servers: [{ uuid: 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11, organisation: x, service: 1, name: s, node: n, egg: e, limits: { memory: 1, cpu: 1, disk: 1 }, allocation: { ip: 198.51.100.10, port: 1 } }]',
    [/no organisation x/, /no node n/, /no egg e/],
  ],
  [
    'a collector that listens nowhere',
    'collectors: [{ name: c, listen: "here", exporters: [{ ip: 192.0.2.1 }] }]',
    [/^1:33 This is no ADDRESS:PORT/],
  ],
  [
    'a collector that listens to nobody',
    'collectors:\n- { name: c, listen: "0.0.0.0:6343", exporters: [] }',
    [/^2:49 Exporters must name at least 1/],
  ],
  [
    'an exporter twice, in two spellings',
    'collectors: [{ name: c, listen: "[::]:1", exporters: [{ ip: "2001:db8::1" }, { ip: "2001:DB8::1" }] }]',
    [/The exporter 2001:db8::1 is here twice/],
  ],
  [
    'an exporter that cannot reach its collector',
    'collectors:\n- { name: a, listen: "[::]:1", exporters: [{ ip: "2001:db8::1" }, { ip: 192.0.2.1 }] }\n- { name: b, listen: "0.0.0.0:1", exporters: [{ ip: "2001:db8::1" }] }',
    [/^2:.* 192\.0\.2\.1 does not reach \[::\]:1, .*IPv6 alone/, /^3:.*2001:db8::1 does not reach/],
  ],
  [
    'two collectors at one address, in two spellings, and beside one that takes every address',
    'collectors:\n- { name: a, listen: "[2001:DB8:0::1]:1", exporters: [{ ip: "2001:db8::2" }] }\n- { name: b, listen: "[2001:db8::1]:1", exporters: [{ ip: "2001:db8::2" }] }\n- { name: c, listen: "[::]:1", exporters: [{ ip: "2001:db8::2" }] }\n- { name: d, listen: "127.0.0.1:1", exporters: [{ ip: 192.0.2.1 }] }\n- { name: e, listen: "0.0.0.0:1", exporters: [{ ip: 192.0.2.1 }] }\n- { name: f, listen: "127.0.0.1:2", exporters: [{ ip: 192.0.2.1 }] }\n- { name: g, listen: "127.0.0.2:2", exporters: [{ ip: 192.0.2.1 }] }',
    [
      /^3:22 .*taken by the collector a, which listens to \[2001:db8::1\]:1/,
      /^4:22 .*taken by the collector a/,
      /^6:22 0\.0\.0\.0:1 is taken by the collector d,/,
    ],
  ],
  [
    'a responder that calls nothing, and one that calls twice',
    'responders:\n- { name: a }\n- { name: b, command: [/x], webhook: "http://x" }',
    [/^2:3 A responder has a command or a webhook/, /^3:3 A responder/],
  ],
  [
    'a responder by a shell word, and one whose URL holds a password',
    'responders:\n- { name: a, command: [blackhole] }\n- { name: b, webhook: "https://u:p@x/" }\n- { name: c, webhook: "file:///etc/passwd" }',
    [/absolute path/, /Leave name and password out/, /no http or https URL/],
  ],
  [
    'a safelist of everybody, in halves too, which would switch mitigation off',
    ACME('    safelist: [0.0.0.0/0, "::/0", 128.0.0.0/1, 10.0.0.0/8, "2000::/15", "2001::/16"]'),
    [
      /^5:16 0\.0\.0\.0\/0 would keep/,
      /^5:27 ::\/0 would/,
      /128\.0\.0\.0\/1 would/,
      /2000::\/15 would/,
    ],
  ],
  ['a safelisted source with host bits', ACME('    safelist: [192.0.2.1/24]'), [/192.0.2.1\/24/]],
  [
    'an ASN of two organisations',
    'organisations:\n  a: { name: A, asns: [1] }\n  b: { name: B, asns: [1] }',
    [/^3:24 AS1 belongs to a already/],
  ],
  [
    'an ASN of the operator and of an organisation',
    'asns: [1]\norganisations:\n  a: { name: A, asns: [1] }',
    [/^3:24 AS1 is the operator's already/],
  ],
  [
    'a prefix under an ASN that no organisation has',
    'asns: [1]\norganisations:\n  a: { name: A, prefixes: [{ cidr: 192.0.2.0/24, asn: 2 }] }',
    [/^3:55 AS2 is neither the organisation's nor the operator's/],
  ],
  [
    'a source that is every address, one blocked twice, and one that is none',
    ACME('    blocked_sources: [{ sources: [0.0.0.0/0, 192.0.2.1, 192.0.2.1/32, x] }]'),
    [/^5:35 0\.0\.0\.0\/0 is every address/, /^5:57 192\.0\.2\.1\/32 is here twice/, /^5:71 /],
  ],
  ['a tab', 'edges:\n\t- x', [/^2:1 A tab indents here/]],
  ['two documents', 'edges: []\n---\nedges: []', [/second document/]],
  ['a list for a file', '- 1', [/^1:1 The file must be a mapping/]],
  [
    '__proto__ as a field',
    'organisations:\n  __proto__: { name: x }',
    [/"__proto__" is no short name/],
  ],
  [
    'a choice of two types',
    ACME('    services: [{ id: 1, name: s, managed_filters: [7] }]'),
    [/^5:52 An entry of managed_filters must be text .* or a mapping/],
  ],
  [
    'the alternative that was meant',
    ACME('    services: [{ id: 1, name: s, managed_filters: [{ type: udp-stateful, prot: 1 }] }]'),
    [/^5:74 There is no field "prot"/],
  ],
];

for (const [name, text, expected] of CASES) {
  test(`names file, line and column of ${name}`, () => {
    const found = mistakes(text);
    assert.equal(found.length, expected.length, found.join('\n'));
    for (const wanted of expected) {
      assert.ok(
        found.some((message) => wanted.test(message)),
        found.join('\n'),
      );
    }
  });
}

test('lists mistakes in the order of the file', () => {
  const text = `organisations:
  acme:
    name: Acme
    prefixes: [{ cidr: 1.2.3, asn: 1 }]
    keys: [{ name: k, abilities: [fly] }]
    groups: [{ name: g, addresses: [nowhere] }]
edges: [{ name: e, devices: [x], serves: [10.0.0.1/8] }]`;
  assert.deepEqual(
    mistakes(text).map((message) => message.split(':')[0]),
    ['4', '4', '5', '6', '7'],
  );
});

test('limits the number of listed mistakes', () => {
  const text = `edges: [${'{ name: a, devices: [x], serves: [nowhere] }, '.repeat(3000)}]`;
  assert.equal(mistakes(text).length, 50);
});

test('substitutes environment variables in values only, and names missing ones', () => {
  const file = mustParse('edges: [{ name: "${NAME}", devices: ["${A}${B}"], site: "$${x}" }]', {
    NAME: 'fra1',
    A: 'et',
    B: 'h0',
  });
  assert.deepEqual(
    file.objects.edge.map(({ object: { name, devices, site } }) => [name, devices, site]),
    [['fra1', ['eth0'], '${x}']],
  );
  // No consequential error is reported, such as the empty name.
  assert.deepEqual(mistakes('edges: [{ name: "${NOPE}", devices: [x] }]'), [
    '1:17 The environment variable NOPE is not set.',
  ]);
  assert.match(mistakes('"${KEY}": 1', { KEY: 'edges' })[0] ?? '', /There is no field "\$\{KEY\}"/);
  const nested = mustParse('edges: [{ name: a, devices: [x], site: "${A}" }]', {
    A: '${B}',
    B: 'no',
  });
  assert.equal(nested.objects.edge[0]?.object.site, '${B}');
  assert.match(
    mistakes('edges: [{ name: "${toString}", devices: [x] }]')[0] ?? '',
    /toString is not set/,
  );
});

test('fills in defaults of optional fields', () => {
  const file = mustParse(
    ACME('    services: [{ id: 1, name: s }]') + 'edges: [{ name: e, devices: [x] }]',
  );
  const { organisation, service } = file.objects;
  assert.equal(organisation[0]?.object.limits.rules_per_ip, 100);
  assert.deepEqual(service[0]?.object.managed_filters, [
    { type: 'tcp-syn-proxy', ports: null },
    { type: 'udp-stateful', ports: null },
  ]);
  const { at, object: edge } = file.objects.edge[0] ?? {};
  assert.deepEqual([at?.line, at?.column], [6, 9]);
  assert.deepEqual(edge, {
    name: 'e',
    site: 'e',
    devices: ['x'],
    serves: ['0.0.0.0/0', '::/0'],
    sees: 'both',
    fragments: 'reassemble',
    management: [{ protocol: 'tcp', port: 22 }],
  });
  assert.deepEqual(mustParse('').objects.organisation, []);
});

test('reads thresholds, mitigation modes and safelists of every scope, and collectors', () => {
  const file = mustParse(
    `collectors: [{ name: c, listen: "[::]:6343", site: fra, exporters: [{ ip: "2001:DB8::1", sampling_rate: 1000 }, { ip: "2001:db8::2", prefixes: [203.0.113.0/24, 198.51.100.1] }] }]\n` +
      ACME(`    thresholds: { pps: 1 }
    safelist: [192.0.2.0/24, 198.51.100.7/32]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, thresholds: { mbps: 2 }, mitigation: observe }]
    services: [{ id: 1, name: s, thresholds: { hold_seconds: 3 }, addresses: [{ ip: 198.51.100.1, mitigation: off }] }]`),
  );
  const nothing = {
    thresholds: { pps: null, mbps: null, hold_seconds: null },
    mitigation: null,
    safelist: [],
  };
  const { organisation, service, holding } = file.objects;
  assert.partialDeepStrictEqual(organisation[0]?.object, {
    ...nothing,
    thresholds: { ...nothing.thresholds, pps: 1 },
    safelist: ['192.0.2.0/24', '198.51.100.7'],
  });
  assert.partialDeepStrictEqual(
    holding.map(({ object }) => object),
    [
      { ...nothing, thresholds: { ...nothing.thresholds, mbps: 2 }, mitigation: 'observe' },
      { ...nothing, mitigation: 'off' },
    ],
  );
  assert.partialDeepStrictEqual(service[0]?.object, {
    ...nothing,
    thresholds: { ...nothing.thresholds, hold_seconds: 3 },
  });
  assert.deepEqual(
    file.objects.collector.map(({ object }) => object),
    [
      {
        name: 'c',
        listen: '[::]:6343',
        exporters: [
          { ip: '2001:db8::1', sampling_rate: 1000, prefixes: null },
          {
            ip: '2001:db8::2',
            sampling_rate: null,
            prefixes: ['198.51.100.1/32', '203.0.113.0/24'],
          },
        ],
        site: 'fra',
      },
    ],
  );
});

test('accepts anchors and limits their expansion', () => {
  const shared = mustParse('edges:\n- &e { name: a, devices: &d [x] }\n- { name: b, devices: *d }');
  assert.deepEqual(
    shared.objects.edge.map(({ object }) => object.devices),
    [['x'], ['x']],
  );
  const levels = Array.from(
    { length: 12 },
    (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i === 0 ? 0 : 12)}x]`,
  );
  assert.match(mistakes(levels.join('\n'))[0] ?? '', /anchors of this file expand to more/);
  assert.match(mistakes('edges: &a [*a]')[0] ?? '', /expand to more|no anchor/);
  assert.match(mistakes('edges: *nope').join('\n'), /anchor|alias/i);
});

const HOSTILE: readonly (readonly [string, string])[] = [
  ['a hundred thousand opening brackets', '['.repeat(100_000)],
  ['a hundred thousand opening braces', '{a: '.repeat(100_000)],
  ['a line of nested lists', '- '.repeat(100_000)],
  ['a line of explicit keys', '? '.repeat(100_000)],
  [
    'a staircase of mappings',
    Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
  ],
  [
    'a staircase of lists',
    Array.from({ length: 500 }, (_, i) => `${' '.repeat(i)}- a:`).join('\n'),
  ],
  ['a hundred thousand quotes', '"'.repeat(100_000)],
  ['a hundred thousand errors', '}\n'.repeat(50_000)],
  ['a hundred thousand fields', Array.from({ length: 100_000 }, (_, i) => `k${i}: 1`).join('\n')],
  ['more than the largest file', `# ${'x'.repeat(68_000_000)}`],
  ['binary', String.fromCharCode(...Array.from({ length: 4000 }, (_, i) => i % 32))],
];

for (const [name, text] of HOSTILE) {
  test(`refuses ${name} in bounded time`, () => {
    const tookMs = processorClock();
    const found = mistakes(text);
    assert.ok(found.length > 0 && found.length <= 50);
    assert.ok(tookMs() < 8000);
  });
}
