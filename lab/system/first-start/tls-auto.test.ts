import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import { freePort } from '@portcullis/cli/testing/free-port.ts';
import { RunningCommand } from '@portcullis/cli/testing/run.ts';
import { eventually } from '@portcullis/cli/testing/eventually.ts';
import { TEST_CERTIFICATE } from '@portcullis/control/testing/certificate.ts';
import { require } from '../../requirements.ts';

const DOMAIN = 'panel.portcullis.test';

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

/** A certificate authority for tests, and a DNS server for which every name is this host. */
async function startAuthority(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-acme-'));
  chmodSync(folder, 0o711);
  const [directory = 0, management = 0, dns = 0, manageDns = 0, https = 0, http = 0] =
    await freePorts(6);
  const certificate = join(folder, 'authority.pem');
  const privateKey = join(folder, 'authority.key');
  writeFileSync(certificate, TEST_CERTIFICATE.cert);
  writeFileSync(privateKey, TEST_CERTIFICATE.key);
  const config = join(folder, 'pebble.json');
  const pebble = {
    listenAddress: `127.0.0.1:${directory}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate,
    privateKey,
    httpPort: http,
    tlsPort: https,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  };
  writeFileSync(config, JSON.stringify({ pebble }));
  const running: ChildProcess[] = [];
  const start = (program: string, ...args: readonly string[]): void => {
    const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' };
    running.push(spawn(program, args, { env, stdio: 'ignore' }));
  };
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', ''];
  const here = ['-defaultIPv4', '127.0.0.1', '-defaultIPv6', ''];
  start(
    'pebble-challtestsrv',
    '-dns01',
    `127.0.0.1:${dns}`,
    '-management',
    `127.0.0.1:${manageDns}`,
    ...off,
    ...here,
  );
  start('pebble', '-config', config, '-dnsserver', `127.0.0.1:${dns}`);
  t.after(async () => {
    for (const one of running) {
      const gone = once(one, 'exit');
      if (one.exitCode === null && one.kill()) await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, certificate, url: `https://localhost:${directory}/dir`, https, http };
}

/** The certificate that a browser is shown. */
async function shown(port: number): Promise<X509Certificate | null> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: DOMAIN,
    rejectUnauthorized: false,
  });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerX509Certificate() ?? null;
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}

for (const [challenge, opens] of [
  ['HTTP-01', true],
  ['TLS-ALPN-01', false],
] as const) {
  test(`--tls-auto serves a self-signed certificate, and then one by ${challenge}, which a restart keeps`, async (t) => {
    if (!require(t, ['pebble'])) return;
    const authority = await startAuthority(t);
    const data = join(authority.folder, 'data');
    const taken = createServer();
    if (!opens) {
      taken.listen(authority.http, '127.0.0.1');
      await once(taken, 'listening');
      t.after(() => taken.close());
    }
    const args = [
      'control',
      '--data',
      data,
      '--listen',
      `127.0.0.1:${authority.https}`,
      '--metrics-listen',
      'off',
      '--public-url',
      `https://${DOMAIN}`,
      '--tls-auto',
      'host@portcullis.test',
      '--acme-directory',
      authority.url,
      '--acme-listen',
      `127.0.0.1:${authority.http}`,
    ];
    const env = {
      PATH: process.env['PATH'],
      HOME: authority.folder,
      NODE_EXTRA_CA_CERTS: authority.certificate,
    };
    const run = () => {
      const command = new RunningCommand(args, env);
      t.after(async () => {
        if (command.child.exitCode === null) await command.stop();
      });
      return command;
    };
    const first = run();
    const log = await first.printsWhere((text) => /SHA-256 fingerprint is/.test(text), 'err');
    assert.match(log, /fingerprint is (?:[0-9A-F]{2}:){31}[0-9A-F]{2}/);
    await eventually('it is issued', async () => {
      const certificate = await shown(authority.https);
      return certificate !== null && /Pebble/.test(certificate.issuer);
    });
    assert.equal((await shown(authority.https))?.checkHost(DOMAIN), DOMAIN);
    assert.match(first.err, opens ? /a certificate was issued/ : /TLS-ALPN-01 is used/);
    if (opens) {
      const plain = await fetch(`http://127.0.0.1:${authority.http}/x`, { redirect: 'manual' });
      assert.equal(plain.headers.get('location'), `https://${DOMAIN}/`);
    }
    const serial = (await shown(authority.https))?.serialNumber;
    assert.equal((await first.stop()).code, 0);
    const second = run();
    await second.prints(/control is ready/, 'err');
    assert.equal((await shown(authority.https))?.serialNumber, serial);
    assert.doesNotMatch(second.err, /self-signed/);
  });
}
