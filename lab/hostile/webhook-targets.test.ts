import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayConnect } from '@portcullis/core/net/public-address.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const HOOKS = '/api/portal/organisations/acme/webhooks';

/** Addresses that are none of the public internet. A tenant would reach the host, its network or its cloud by them. */
const ADDRESSES = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '224.0.0.251',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '64:ff9b::a00:1',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:a00:1::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
];

/** Ways to write 127.0.0.1, the cloud's 169.254.169.254 or a URL that is not plainly http. */
const SPELLINGS = [
  'http://localhost/',
  'http://LOCALHOST./',
  'http://a.localhost/',
  'http://127.1/',
  'http://127.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://0/',
  'http://127.0.0.1./',
  'http://127。0。0。1/',
  'http://①②⑦.0.0.1/',
  'http://%31%32%37.0.0.1/',
  'http:\\\\127.0.0.1\\',
  'http://[::ffff:127.0.0.1]/',
  'http://[0:0:0:0:0:ffff:a9fe:a9fe]/',
  'http://example.net@127.0.0.1/',
  'https://user:password@example.net/',
  'ftp://example.net/',
  'file:///etc/passwd',
  'gopher://example.net/',
];

test('a webhook goes to no address that is not public, and to no other spelling of one', async (t) => {
  const { session, db } = await startEnvironment(t);
  const admin = session('admin');
  const create = (url: string) =>
    admin.post(HOOKS, { name: 'hook', url, events: ['attack.opened'] });
  const literals = ADDRESSES.map((address) =>
    address.includes(':') ? `http://[${address}]/` : `http://${address}:8080/`,
  );
  for (const url of [...literals, ...SPELLINGS]) {
    const reply = await create(url);
    assert.equal(reply.status, 422, `${url}: ${reply.text}`);
    assert.match(reply.text, /"pointer":"\/url"/, url);
  }
  assert.deepEqual(await db.selectFrom('webhooks').select('url').execute(), []);
  for (const url of ['http://1.1.1.1:8080/', 'https://[2606:4700::1111]/', 'https://example.net/a'])
    assert.equal((await create(url)).status, 201, url);
});

test('what a name resolves to is checked like an address in a URL', () => {
  for (const address of ADDRESSES) assert.equal(mayConnect(address, []), false, address);
  assert.ok(mayConnect('1.1.1.1', []) && mayConnect('2606:4700::1111', []));
});
