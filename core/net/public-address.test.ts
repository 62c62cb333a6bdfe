import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCidr } from './cidr.ts';
import { mayConnect } from './public-address.ts';

test('takes addresses of the public internet', () => {
  for (const text of ['1.1.1.1', '100.63.255.255', '172.32.0.1', '223.255.255.255']) {
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
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '203.0.113.7',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
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
