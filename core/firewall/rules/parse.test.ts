import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Family } from '../../net/address.ts';
import { checkFiltersPerIp, checkPortsPerRequest, checkRulesPerIp } from '../limits.ts';
import { parseRule, type RuleInput } from './parse.ts';

const rule = (input: Partial<RuleInput>, family: Family = 4) =>
  parseRule(
    { action: 'allow', protocol: 'tcp', destinationPort: null, source: null, ...input },
    family,
  );

test('accepts a port only for tcp and udp', () => {
  for (const protocol of ['tcp', 'udp']) assert.ok(rule({ protocol, destinationPort: '80' }).ok);
  for (const protocol of ['icmp', 'gre', 'esp', 'any']) {
    const refused = rule({ protocol, destinationPort: '80' });
    assert.ok(!refused.ok && refused.field === 'destination_port', protocol);
    assert.ok(rule({ protocol }).ok, `${protocol} without a port`);
  }
});

test('treats a rule without a port as one rule for any port', () => {
  const read = rule({ destinationPort: null });
  assert.ok(read.ok && read.value.ports === null);
});

test('treats no source and the whole address family alike, as any', () => {
  for (const [source, family] of [
    [null, 4],
    ['0.0.0.0/0', 4],
    [null, 6],
    ['::/0', 6],
  ] as const) {
    const read = rule({ source }, family);
    assert.ok(read.ok && read.value.source === null, `${source}`);
  }
});

test('writes a single address without its length, a network with it, both canonical', () => {
  for (const [source, shown, family] of [
    ['192.0.2.1/32', '192.0.2.1', 4],
    ['192.0.2.0/24', '192.0.2.0/24', 4],
    ['2001:DB8::1/128', '2001:db8::1', 6],
    ['2001:db8::/32', '2001:db8::/32', 6],
  ] as const) {
    const read = rule({ source }, family);
    assert.ok(read.ok && read.value.source === shown, source);
  }
});

test('rejects a source of the other family, also the whole family', () => {
  for (const [source, family] of [
    ['192.0.2.1', 6],
    ['0.0.0.0/0', 6],
    ['2001:db8::1', 4],
    ['::/0', 4],
  ] as const) {
    const refused = rule({ source }, family);
    assert.ok(!refused.ok && refused.field === 'source_ip' && /IPv/.test(refused.reason), source);
  }
});

test('rejects host bits in a source and suggests the network', () => {
  const refused = rule({ source: '192.0.2.77/24' });
  assert.ok(!refused.ok && refused.reason.includes('192.0.2.0/24'));
});

test('rejects unknown actions and protocols and names the field', () => {
  for (const action of ['ALLOW', '', 'drop', '__proto__']) {
    const refused = rule({ action });
    assert.ok(!refused.ok && refused.field === 'action', action);
  }
  for (const protocol of ['TCP', '', 'sctp', 'constructor']) {
    const refused = rule({ protocol });
    assert.ok(!refused.ok && refused.field === 'protocol', protocol);
  }
});

test('accepts a value at the limit, and names the limit and its value above it', () => {
  const limits = { rulesPerIp: 100, filtersPerIp: 25, maxPortsPerRequest: 101 };
  assert.equal(checkPortsPerRequest(limits, 101), null);
  assert.match(checkPortsPerRequest(limits, 102) ?? '', /102.*101.*max_ports_per_request/);
  assert.equal(checkRulesPerIp(limits, 99, 1), null);
  assert.match(checkRulesPerIp(limits, 99, 2) ?? '', /100 \(rules_per_ip\)/);
  assert.equal(checkFiltersPerIp(limits, 0, 25), null);
  assert.match(checkFiltersPerIp(limits, 25, 1) ?? '', /25 \(filters_per_ip\)/);
});
