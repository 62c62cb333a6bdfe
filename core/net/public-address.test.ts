import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cidr, parseCidr } from './cidr.ts';
import { type Address, parseAddress } from './address.ts';
import { mayConnect, mayReach } from './public-address.ts';

test('takes addresses of the public internet', () => {
  for (const text of [
    '1.1.1.1',
    '168.63.129.15',
    '168.63.129.17',
    '198.17.255.255',
    '100.63.255.255',
    '172.32.0.1',
    '223.255.255.255',
  ]) {
    assert.ok(mayConnect(text, []), text);
  }
  for (const text of ['2606:4700::1', '2a00::1', '2001:200::1']) {
    assert.ok(mayConnect(text, []), text);
  }
});

test('takes no private, loopback, link-local, shared, multicast or tunnelled address, and no name', () => {
  const refused = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '168.63.129.16',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '203.0.113.7',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::101:101',
    '64:ff9b:1::101:101',
    'fd00:ec2::254',
    '5f00::1',
    '4000::1',
    'fe80::1',
    'fc00::1',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'localhost',
    '127.1',
    '',
  ];
  for (const text of refused) assert.equal(mayConnect(text, []), false, text);
});

test('takes what the operator allows', () => {
  const allowed = ['127.0.0.0/8', 'fd00::/8'].flatMap((text) => {
    const parsed = parseCidr(text);
    return parsed.ok ? [parsed.value] : [];
  });
  assert.ok(mayConnect('127.0.0.1', allowed));
  assert.ok(mayConnect('fd00::1', allowed));
  assert.equal(mayConnect('10.0.0.1', allowed), false);
  assert.equal(mayConnect('::ffff:127.0.0.1', allowed), false);
});

test('takes no address of this host, unless the operator names it or loopback', () => {
  const own = ['9.9.9.200', '10.0.0.5', '127.0.0.1', '2a00::5'].map(address);
  const refused = (text: string, ...opened: string[]): void =>
    assert.equal(mayReach(address(text), { opened: opened.map(cidr), own }), false, text);
  const taken = (text: string, ...opened: string[]): void =>
    assert.equal(mayReach(address(text), { opened: opened.map(cidr), own }), true, text);
  for (const one of ['9.9.9.200', '2a00::5', '10.0.0.5', '127.0.0.1']) refused(one);
  refused('10.0.0.5', '10.0.0.0/8');
  refused('9.9.9.200', '9.9.9.0/24', '0.0.0.0/0');
  refused('64:ff9b::909:9c8', '64:ff9b::/96');
  refused('2002:909:9c8::1', '2002::/16');
  taken('9.9.9.201');
  taken('10.0.0.6', '10.0.0.0/8');
  taken('10.0.0.5', '10.0.0.5/32');
  taken('127.0.0.1', '127.0.0.0/8');
  taken('64:ff9b::909:9c9', '64:ff9b::/96');
});

test('reaches nothing that is closed, though it is public or opened', () => {
  const closed = ['9.9.9.0/24', '10.0.0.0/24'].map(cidr);
  const opened = ['10.0.0.0/8', '64:ff9b::/96'].map(cidr);
  for (const text of ['9.9.9.9', '10.0.0.7', '64:ff9b::909:909', '2002:909:909::1'])
    assert.equal(mayReach(address(text), { opened, closed }), false, text);
  for (const text of ['9.9.8.9', '10.0.1.7'])
    assert.equal(mayReach(address(text), { opened, closed }), true, text);
});

test('opens IPv6 that carries IPv4 for public IPv4 addresses only', () => {
  const opened = ['::/0', '10.0.0.0/8'].map(cidr);
  for (const text of [
    '64:ff9b::a00:1',
    '64:ff9b::a83f:8110',
    '2002:7f00:1::',
    '2002:a9fe:a9fe::1',
  ]) {
    assert.equal(mayReach(address(text), { opened }), false, text);
  }
  for (const text of ['64:ff9b::101:101', '2002:101:101::1']) {
    assert.equal(mayReach(address(text), { opened }), true, text);
  }
});

function address(text: string): Address {
  const parsed = parseAddress(text);
  assert.ok(parsed.ok, text);
  return parsed.value;
}

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  assert.ok(parsed.ok, text);
  return parsed.value;
}
