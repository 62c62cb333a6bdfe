import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createAuthority, issueCertificate } from '@portcullis/control/certificates.ts';
import { CommandSession } from './testing/run.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const CALLER = {
  data: {
    organisation: 'acme',
    organisation_name: 'Acme',
    key: 'k',
    abilities: [],
    flags: [],
    prefixes: null,
    servers: null,
    requests_per_minute: 1,
    source_ip: null,
  },
};

describe('callers of an installation with an authority of its own', () => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-authority-'));
  const env = { PATH: process.env['PATH'], HOME: home, PORTCULLIS_API_KEY: 'pcl_x' };
  const keys: string[] = [];
  let server: ReturnType<typeof createServer>;
  let url = '';
  let pem = '';
  let fingerprint = '';

  // Each in a process of its own: what one trusts, the next would too.
  const run = async (args: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const session = new CommandSession({ ...env, ...more });
    const ran = await session.run(args);
    await session.close();
    return ran;
  };

  before(async () => {
    const authority = await createAuthority();
    pem = authority.cert;
    fingerprint = new X509Certificate(pem).fingerprint256;
    const { cert, key } = await issueCertificate(authority, ['127.0.0.1']);
    server = createServer({ cert: `${cert}\n${pem}\n`, key }, (request, response) => {
      keys.push(request.headers.authorization ?? '');
      response.setHeader('content-type', 'application/json').end(JSON.stringify(CALLER));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    rmSync(home, { recursive: true, force: true });
  });

  it('say that the certificate is not trusted, not that nothing is there', async () => {
    const { code, err } = await run(['whoami', '--url', url]);
    assert.equal(code, 69);
    assert.match(err, /it answers with a certificate that this host does not trust.*--ca/);
    assert.doesNotMatch(err, /Is it up/);
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    const gone = await run(['whoami', '--url', `https://127.0.0.1:${port}`]);
    assert.match(gone.err, /ECONNREFUSED.*\. Is it up, and is --url right\?/);
  });

  it('trust it by a fingerprint, a file or the environment', async () => {
    const file = join(home, 'ca.crt');
    writeFileSync(file, pem);
    const ways = [fingerprint, fingerprint.replaceAll(':', '').toLowerCase(), file];
    for (const ca of ways) {
      assert.match((await run(['whoami', '--url', url, '--ca', ca])).out, /organisation +Acme/, ca);
      const given = await run(['whoami', '--url', url], { PORTCULLIS_CA: ca });
      assert.match(given.out, /organisation +Acme/);
    }
  });

  it('send nothing to a server of another authority', async () => {
    const before = keys.length;
    const other = fingerprint.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    const { code, err } = await run(['whoami', '--url', url, '--ca', other]);
    assert.equal(code, 69);
    assert.match(err, /no authority with the fingerprint of --ca: nothing was sent/);
    assert.match((await run(['whoami', '--url', url, '--ca', 'x'])).err, /neither a file/);
    assert.equal(keys.length, before);
  });

  it('keep it in the profile', async () => {
    const profiles = join(home, '.config', 'portcullis', 'profiles.json');
    const args = [MAIN, 'login', '--url', url, '--ca', fingerprint, '--profile', 'own'];
    const login = spawn(process.execPath, args, { env, stdio: ['pipe', 'ignore', 'inherit'] });
    login.stdin.end('pcl_x\n');
    assert.deepEqual(await once(login, 'exit'), [0, null]);
    assert.match(readFileSync(profiles, 'utf8'), /BEGIN CERTIFICATE/);
    const { out } = await run(['whoami'], { PORTCULLIS_API_KEY: '' });
    assert.match(out, /organisation +Acme[^]*profile own/);
  });
});
