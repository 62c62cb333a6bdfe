import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCidr } from '../net/cidr.ts';
import { parseWebhookUrl } from './url.ts';

test('takes http and https of names and public addresses', () => {
  for (const text of [
    'https://example.net/hook?a=b',
    'http://1.1.1.1:8080/',
    'https://[2a00::1]/',
  ]) {
    assert.ok(parseWebhookUrl(text, []).ok, text);
  }
});

test('refuses other schemes, credentials, fragments and addresses that are not public, however written', () => {
  const refused = [
    '',
    'example.net',
    'ftp://example.net/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user@example.net/',
    'https://:secret@example.net/',
    'https://example.net/#part',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://api.localhost/',
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://169.254.169.254/latest/meta-data',
  ];
  for (const text of refused) assert.equal(parseWebhookUrl(text, []).ok, false, text);
});

test('takes an address within the networks that the operator allows', () => {
  const network = parseCidr('127.0.0.0/8');
  assert.ok(network.ok);
  assert.ok(parseWebhookUrl('http://127.0.0.1:9000/', [network.value]).ok);
  assert.ok(parseWebhookUrl('http://localhost:9000/', [network.value]).ok);
  assert.equal(parseWebhookUrl('http://10.0.0.1/', [network.value]).ok, false);
});
