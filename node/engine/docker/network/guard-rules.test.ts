import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOT_PUBLIC } from '@portcullis/core/net/public-address.ts';
import { parseResolvers, renderGuard } from './guard-rules.ts';

test('replaces the guard table completely, and removes it without bridges', () => {
  const plan = { table: 'portcullis_node_x', published: [], resolvers: [], closed: [], opened: [] };
  const empty = 'table inet portcullis_node_x\ndelete table inet portcullis_node_x\n';
  assert.equal(renderGuard({ ...plan, bridges: [] }), empty);
  assert.ok(renderGuard({ ...plan, bridges: ['pcn1'] }).startsWith(`${empty}table inet`));
});

test('accepts only addresses as resolvers', () => {
  const text = `# nameserver 192.0.2.1
nameserver 169.254.169.254
 nameserver 192.0.2.2
nameserver\t2001:DB8:0::53
nameserver fe80::1%eth0
nameserver 192.0.2.3 }; add rule
nameserver example.net
options edns0`;
  assert.deepEqual(parseResolvers(text), ['169.254.169.254', '2001:db8::53', '192.0.2.3']);
});

test('lists every bridge, port, resolver and closed network once in its family', () => {
  const port = { ip: '192.0.2.1', port: 7000, protocol: 'udp' } as const;
  const text = renderGuard({
    table: 't',
    bridges: ['pcn2', 'pcn1'],
    published: [port, port, { ...port, ip: '2001:db8::1' }, { ...port, ip: '0.0.0.0', port: 9 }],
    resolvers: ['192.0.2.53', '2001:db8::53'],
    closed: ['9.9.9.0/24', '2620:fe::/48'],
    opened: ['10.7.0.0/16'],
  });
  const special = [...NOT_PUBLIC, '9.9.9.0/24', '2620:fe::/48'].toSorted();
  const elements = (all: readonly string[]): string => `elements = { ${all.join(', ')} }`;
  const [four, six] = [
    special.filter((one) => !one.includes(':')),
    special.filter((one) => one.includes(':')),
  ];
  assert.ok(text.includes('64:ff9b::909:900/120') && text.includes('2002:909:900::/40'));
  const sets = text
    .split('\n')
    .filter((line) => line.startsWith('  set ') && !line.includes('translated6'));
  assert.deepEqual(
    sets.map((line) => line.trim()),
    [
      'set own { type ifname;  elements = { "pcn1", "pcn2" }; }',
      'set same { type ifname . ifname;  elements = { "pcn1" . "pcn1", "pcn2" . "pcn2" }; }',
      'set published4 { type ipv4_addr . inet_proto . inet_service;  elements = { 0.0.0.0 . udp . 9, 192.0.2.1 . udp . 7000 }; }',
      'set published6 { type ipv6_addr . inet_proto . inet_service;  elements = { 2001:db8::1 . udp . 7000 }; }',
      'set published { type inet_proto . inet_service;  elements = { udp . 9 }; }',
      'set resolvers4 { type ipv4_addr;  elements = { 192.0.2.53 }; }',
      'set resolvers6 { type ipv6_addr;  elements = { 2001:db8::53 }; }',
      'set opened4 { type ipv4_addr; flags interval; auto-merge; elements = { 10.7.0.0/16 }; }',
      'set opened6 { type ipv6_addr; flags interval; auto-merge; }',
      `set closed4 { type ipv4_addr; flags interval; auto-merge; ${elements(four)}; }`,
      `set closed6 { type ipv6_addr; flags interval; auto-merge; ${elements(six)}; }`,
    ],
  );
});
