import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCidr } from '@portcullis/core/net/cidr.ts';
import fc from 'fast-check';
import { decideConfig, ownHosts } from './config.ts';

function decide(env: Readonly<Record<string, string>>, isRoot = false) {
  return decideConfig(env, { isRoot });
}
function must(env: Readonly<Record<string, string>>, isRoot = false) {
  const config = decide(env, isRoot);
  return config.ok ? config.value : assert.fail(config.reason);
}

test('orders a certificate only for a name that can have one', () => {
  const auto = (more: Record<string, string>) =>
    decideConfig({ HOME: '/home/me', PORTCULLIS_TLS_AUTO: 'on', ...more }, { isRoot: false });
  const named = { PORTCULLIS_PUBLIC_URL: 'https://panel.example.net' };
  const decided = auto({ ...named, PORTCULLIS_LISTEN: '0.0.0.0:443' });
  assert.ok(decided.ok);
  assert.deepEqual(decided.value.tlsAuto, {
    domain: 'panel.example.net',
    email: null,
    directoryUrl: 'https://acme-v02.api.letsencrypt.org/directory',
    httpListen: { host: '0.0.0.0', port: 80 },
  });
  for (const [wrong, reason] of [
    [{}, /needs PORTCULLIS_PUBLIC_URL/],
    [{ PORTCULLIS_PUBLIC_URL: 'https://192.0.2.1' }, /needs PORTCULLIS_PUBLIC_URL with a name/],
    [{ ...named, PORTCULLIS_TLS_AUTO: 'yes' }, /is "on", or the address/],
    [{ ...named, PORTCULLIS_TLS_CERT: '/c', PORTCULLIS_TLS_KEY: '/k' }, /leave out/],
    [{ ...named, PORTCULLIS_ACME_DIRECTORY: 'http://x' }, /ACME directory/],
  ] as const) {
    const refused = auto(wrong);
    assert.ok(!refused.ok);
    assert.match(refused.reason, reason);
  }
});

test('an empty environment means loopback and an embedded database', () => {
  const config = must({ HOME: '/home/ada' });
  assert.deepEqual(config, {
    dataDir: '/home/ada/.local/state/portcullis',
    databaseUrl: null,
    migrationUrl: null,
    databasePool: 10,
    listen: { host: '127.0.0.1', port: 8080 },
    metricsListen: { host: '127.0.0.1', port: 9464 },
    publicUrl: 'http://127.0.0.1:8080',
    replicaUrl: 'http://127.0.0.1:8080',
    trustedProxies: [],
    webhookNetworks: [],
    natsServers: [],
    ownNats: null,
    mail: null,
    tlsFiles: null,
    tlsAuto: null,
    linkSocket: '/home/ada/.local/state/portcullis/link/control.sock',
    nodeSocket: '/home/ada/.local/state/portcullis/node-link/control.sock',
    account: null,
    logLevel: 'info',
    awaitsFleet: false,
    program: 'portcullis',
    enforceCommand: null,
  });
  assert.equal(must({ HOME: '/root' }, true).dataDir, '/var/lib/portcullis');
});

test('reads every variable, and ignores empty ones', () => {
  const config = must({
    DATABASE_URL: 'postgresql://app:secret@db.example:5432/portcullis',
    DATABASE_MIGRATION_URL: 'postgresql://owner:secret@db.example:5432/portcullis',
    PORTCULLIS_DATABASE_POOL: '40',
    PORTCULLIS_DATA: '/srv/portcullis',
    PORTCULLIS_LISTEN: '[::]:443',
    PORTCULLIS_METRICS_LISTEN: 'off',
    PORTCULLIS_PUBLIC_URL: 'https://protect.example.net/',
    PORTCULLIS_TRUSTED_PROXY: '192.0.2.1, 2001:db8::/32',
    PORTCULLIS_WEBHOOK_NETWORKS: '10.1.0.0/16, fd00::/8',
    PORTCULLIS_NATS: 'tls://nats1.example.net:4222, nats://127.0.0.1:4222',
    PORTCULLIS_SMTP_URL: 'smtp://mail.example.net',
    PORTCULLIS_MAIL_FROM: 'portcullis@example.net',
    PORTCULLIS_TLS_CERT: '/etc/tls/cert.pem',
    PORTCULLIS_TLS_KEY: '/etc/tls/key.pem',
    PORTCULLIS_ACCOUNT: 'portcullis',
    PORTCULLIS_LOG_LEVEL: '  ',
  });
  assert.equal(config.migrationUrl, 'postgresql://owner:secret@db.example:5432/portcullis');
  assert.equal(config.databasePool, 40);
  assert.deepEqual(config.listen, { host: '::', port: 443 });
  assert.equal(config.metricsListen, null);
  assert.equal(config.publicUrl, 'https://protect.example.net');
  assert.deepEqual(config.trustedProxies, ['192.0.2.1', '2001:db8::/32']);
  assert.deepEqual(must({ PORTCULLIS_TRUSTED_PROXY: 'none' }).trustedProxies, []);
  for (const everybody of ['0.0.0.0/0', '10.0.0.0/8,::/0']) {
    const refused = decideConfig(
      { PORTCULLIS_TRUSTED_PROXY: everybody, HOME: '/home/me' },
      { isRoot: false },
    );
    assert.match(refused.ok ? '' : refused.reason, /is everybody.*network of the proxy alone/);
  }
  assert.deepEqual(config.webhookNetworks.map(formatCidr), ['10.1.0.0/16', 'fd00::/8']);
  assert.deepEqual(config.natsServers, ['tls://nats1.example.net:4222', 'nats://127.0.0.1:4222']);
  assert.deepEqual(config.mail, { url: 'smtp://mail.example.net', from: 'portcullis@example.net' });
  assert.deepEqual(config.tlsFiles, { cert: '/etc/tls/cert.pem', key: '/etc/tls/key.pem' });
  assert.equal(config.logLevel, 'info');
});

test('accepts the URL of a database on a Unix socket', () => {
  const url = 'postgresql:///portcullis?host=%2Frun%2Fpostgresql&user=portcullis';
  assert.equal(must({ DATABASE_URL: url }).databaseUrl, url);
});

test('knows every host of a database of several, and no folder of a socket', () => {
  const hosts = ownHosts(
    must({
      DATABASE_URL: 'postgresql://u@db1.example,[2001:db8::2]:5433/x',
      DATABASE_MIGRATION_URL: 'postgresql:///x?host=/run/postgresql',
    }),
  );
  assert.deepEqual(hosts.slice(-2), ['db1.example', '2001:db8::2']);
});

test('reports all mistakes at once, one per line, without secrets', () => {
  const config = decide({
    DATABASE_URL: 'mysql://app:hunter2@db/x',
    PORTCULLIS_LISTEN: '127.0.0.1:80800',
    PORTCULLIS_PUBLIC_URL: 'protect.example.net',
    PORTCULLIS_TRUSTED_PROXY: '10.0.0.1/8,nonsense',
    PORTCULLIS_WEBHOOK_NETWORKS: '10.0.0.1/8',
    // Unencrypted, and not on this host.
    PORTCULLIS_NATS: 'nats://nats.example.net:4222',
    PORTCULLIS_SMTP_URL: 'https://hunter2@mail.example.net',
    PORTCULLIS_TLS_CERT: '/etc/tls/cert.pem',
    PORTCULLIS_LOG_LEVEL: 'loud',
  });
  assert.equal(config.ok, false);
  const lines = config.ok ? [] : config.reason.split('\n');
  assert.equal(lines.length, 9);
  for (const name of [
    'DATABASE_URL',
    'LISTEN',
    'PUBLIC_URL',
    'TRUSTED_PROXY',
    'WEBHOOK_NETWORKS',
    'NATS',
    'SMTP_URL',
    'TLS',
    'LOG_LEVEL',
  ]) {
    assert.ok(
      lines.some((line) => line.includes(name)),
      name,
    );
  }
  assert.equal(lines.join().includes('hunter2'), false);
});

test('never throws', () => {
  const names = [
    'DATABASE_URL',
    'PORTCULLIS_LISTEN',
    'PORTCULLIS_METRICS_LISTEN',
    'PORTCULLIS_PUBLIC_URL',
    'PORTCULLIS_TRUSTED_PROXY',
    'PORTCULLIS_LOG_LEVEL',
  ];
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), fc.string()), (env) => {
      const config = decide(env);
      if (!config.ok) assert.ok(config.reason.length > 0);
    }),
    { numRuns: 300 },
  );
});
