import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideHosts } from './hosts-options.ts';

const NAMED = { hosts: '0.0.0.0:8443', name: ['control.example.net', '10.0.0.1'] };

test('a name and an address to listen at say all that control and NATS need', () => {
  const hosts = decideHosts(NAMED);
  assert.equal(hosts?.url, 'https://control.example.net:8443');
  assert.deepEqual(hosts?.names, ['control.example.net', '10.0.0.1']);
  assert.deepEqual(hosts?.nats, {
    listen: '0.0.0.0:4223',
    port: 4223,
    url: 'tls://control.example.net:4223',
  });
  assert.deepEqual(hosts?.control('/data'), {
    listen: '0.0.0.0:8443',
    publicUrl: 'https://control.example.net:8443',
    nats: 'tls://control.example.net:4223',
    tlsCert: '/data/certificate/server.crt',
    tlsKey: '/data/certificate/server.key',
  });
  const six = decideHosts({ hosts: '[::]:443', name: ['2001:db8::1'], natsListen: '[::]:5000' });
  assert.equal(six?.url, 'https://[2001:db8::1]:443');
  assert.deepEqual(six?.nats, { listen: '[::]:5000', port: 5000, url: 'tls://[2001:db8::1]:5000' });
});

test('what is given stays: NATS elsewhere, a certificate, a public URL', () => {
  const nats = 'tls://nats.example.net:4222';
  const publicUrl = 'https://portcullis.example.net';
  const given = { ...NAMED, nats, publicUrl, tlsAuto: true as const };
  const hosts = decideHosts(given);
  assert.equal(hosts?.nats, null);
  assert.equal(hosts?.url, publicUrl);
  assert.deepEqual(hosts?.control('/data'), { listen: '0.0.0.0:8443', publicUrl });
});

for (const [options, says] of [
  [{ hosts: '0.0.0.0:8443' }, /--hosts needs --name/],
  [{ name: ['a.example'] }, /--name needs --hosts/],
  [{ natsListen: '0.0.0.0:1' }, /--nats-listen needs --hosts/],
  [{ ...NAMED, listen: '127.0.0.1:1' }, /leave out --listen/],
  [{ ...NAMED, hosts: '8443' }, /--hosts 8443 is not HOST:PORT/],
  [{ ...NAMED, hosts: '0.0.0.0:0' }, /is not HOST:PORT/],
  [{ ...NAMED, name: ['0.0.0.0'] }, /--name 0\.0\.0\.0 is not a name/],
  [{ ...NAMED, name: ['https://a.example'] }, /is not a name/],
  [{ ...NAMED, natsListen: '0.0.0.0:1', nats: 'tls://a.example:1' }, /leave it out with --nats/],
] as const) {
  test(`${JSON.stringify(options)} is refused`, () => {
    assert.throws(() => decideHosts(options), says);
  });
}

test('without --hosts nothing changes', () => {
  assert.equal(decideHosts({ listen: '127.0.0.1:8080' }), null);
});
