import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Family } from '../net/address.ts';
import { checkFiltersPerIp, checkPortsPerRequest, checkRulesPerIp } from './limits.ts';
import { parseRule, type RuleInput } from './rule.ts';

const rule = (input: Partial<RuleInput>, family: Family = 4) =>
  parseRule(
    { action: 'allow', protocol: 'tcp', destinationPort: null, source: null, ...input },
    family,
  );

test('a port is accepted with tcp and udp, and with nothing else', () => {
  for (const protocol of ['tcp', 'udp']) assert.ok(rule({ protocol, destinationPort: '80' }).ok);
  for (const protocol of ['icmp', 'gre', 'esp', 'any']) {
    const refused = rule({ protocol, destinationPort: '80' });
    assert.ok(!refused.ok && refused.field === 'destination_port', protocol);
    assert.ok(rule({ protocol }).ok, `${protocol} without a port`);
  }
});

test('no port means any port, as one rule', () => {
  const read = rule({ destinationPort: null });
  assert.ok(read.ok && read.value.ports === null);
});

test('no source and the whole of the family are the same: any', () => {
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

test('a single address loses its length, a network keeps it, both canonical', () => {
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

test('a source of the other family is refused, the whole of it too', () => {
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

test('host bits in a source are refused, naming the network probably meant', () => {
  const refused = rule({ source: '192.0.2.77/24' });
  assert.ok(!refused.ok && refused.reason.includes('192.0.2.0/24'));
});

test('unknown actions and protocols are refused by their field', () => {
  for (const action of ['ALLOW', '', 'drop', '__proto__']) {
    const refused = rule({ action });
    assert.ok(!refused.ok && refused.field === 'action', action);
  }
  for (const protocol of ['TCP', '', 'sctp', 'constructor']) {
    const refused = rule({ protocol });
    assert.ok(!refused.ok && refused.field === 'protocol', protocol);
  }
});

test('a limit lets through what just fits, and names itself and its value when it does not', () => {
  const limits = { rulesPerIp: 100, filtersPerIp: 25, maxPortsPerRequest: 101 };
  assert.equal(checkPortsPerRequest(limits, 101), null);
  assert.match(checkPortsPerRequest(limits, 102) ?? '', /102.*101.*max_ports_per_request/);
  assert.equal(checkRulesPerIp(limits, 99, 1), null);
  assert.match(checkRulesPerIp(limits, 99, 2) ?? '', /100 \(rules_per_ip\)/);
  assert.equal(checkFiltersPerIp(limits, 0, 25), null);
  assert.match(checkFiltersPerIp(limits, 25, 1) ?? '', /25 \(filters_per_ip\)/);
});
