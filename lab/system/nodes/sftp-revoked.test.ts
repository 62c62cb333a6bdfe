import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it, type TestContext } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { createInternet, EDGE_DEVICE, HOST, type Internet } from '../../stack/internet.ts';
import { type Stack, startStack } from '../../stack/stack.ts';
import { eventually } from '../stack-fixture.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'sshd'] as const;
const UUID = '7c9b2c1e-5d0a-4f6e-9a51-0d5b7a1e0001';
const PASSWORD = 'correct horse battery';
const EMAIL = 'friend@example.net';
const PORT = 2_022;
const RIGHTS = ['file.sftp', 'file.read', 'file.read-content', 'file.create'];
const LISTEN = 'PORTCULLIS_NODE_SFTP_LISTEN';
const SERVER = `/api/x1/game-servers/${UUID}`;
const PUBLIC_URL = 'http://localhost:8080';
const START_MS = 60_000;

interface Reply {
  readonly cookie: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Control, the node and its SFTP server are processes, as on a host. */
describe('sessions of SFTP over processes', { skip: skipUnless(NEEDS) }, () => {
  let internet: Internet;
  let stack: Stack;
  let cookie = '';
  const home = mkdtempSync(join(tmpdir(), 'portcullis-revoked-'));

  before(async () => {
    internet = createInternet('revoked');
    // The node of `up` takes it from the environment.
    process.env[LISTEN] = `127.0.0.1:${PORT}`;
    stack = await startStack(internet, {
      fleet: fleetOf(false),
      // People sign in over https, or at this name.
      args: ['--enforce', '--engine', 'process', '--public-url', PUBLIC_URL],
    }).finally(() => delete process.env[LISTEN]);
    await eventually(
      'the server is built, and its SFTP reported',
      async () => (await stack.api.call<Place>('GET', `${SERVER}/sftp`)).body.data?.port === PORT,
      START_MS,
    );
    const invited = await invite();
    const joined = await call('POST', '/links/accept', {
      token: invited,
      email: EMAIL,
      name: 'Friend',
      password: PASSWORD,
    });
    cookie = joined.cookie;
    writeFileSync(join(home, 'ask'), '#!/bin/sh\nexec cat "$0.secret"\n', { mode: 0o700 });
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(home, 'id')]);
  });
  after(async () => {
    await stack?.stop();
    internet?.destroy();
    rmSync(home, { recursive: true, force: true });
  });

  async function invite(): Promise<string> {
    const body = { email: EMAIL, rights: RIGHTS };
    const { body: made } = await stack.api.call<{ data: { url: string } }>(
      'POST',
      `${SERVER}/people`,
      body,
    );
    return new URL(made.data.url).hash.slice(1);
  }

  /** An operation of the portal, as the friend. */
  async function call(method: string, path: string, body?: object): Promise<Reply> {
    const sent = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      host: new URL(PUBLIC_URL).host,
      'x-portcullis-csrf': '1',
      cookie,
      ...(sent !== '' && { 'content-type': 'application/json' }),
    };
    const socketPath = join(dirname(stack.fleetFile), 'api.sock');
    const asked = request({ socketPath, method, path: `/api/portal${path}`, headers });
    asked.end(sent);
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    const whole = await text(reply);
    assert.ok((reply.statusCode ?? 0) < 300, `${method} ${path}: ${whole}`);
    const [set = ''] = reply.headers['set-cookie'] ?? [];
    const { data = {} } = JSON.parse(whole) as { data?: Reply['data'] };
    return { cookie: set.split(';')[0] ?? '', data };
  }

  async function makePassword(): Promise<number> {
    const body = { name: 'laptop', days: 30, password: PASSWORD };
    const { data } = await call('POST', '/account/sftp-passwords', body);
    writeFileSync(join(home, 'ask.secret'), String(data['password']));
    return Number(data['id']);
  }

  function begin(...options: readonly string[]): ChildProcess {
    const all = [
      'StrictHostKeyChecking=no',
      `UserKnownHostsFile=${join(home, 'known')}`,
      'IdentitiesOnly=yes',
      'ConnectTimeout=20',
      ...options,
    ];
    const user = `${EMAIL}.${UUID.slice(0, 8)}@127.0.0.1`;
    const words = ['sftp', ...all.flatMap((one) => ['-o', one]), '-q', '-P', String(PORT), user];
    return internet.edge.spawn(words, {
      cwd: home,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        SSH_ASKPASS: join(home, 'ask'),
        SSH_ASKPASS_REQUIRE: 'force',
        SSH_AUTH_SOCK: '',
        HOME: home,
      },
    });
  }

  /** Connects, ends its right, and waits until the session has ended; it does not connect again. */
  async function cut(t: TestContext, end: () => Promise<unknown>, key = false): Promise<void> {
    const method = key
      ? ['PreferredAuthentications=publickey', `IdentityFile=${join(home, 'id')}`]
      : [];
    const client = begin(...method);
    client.stdin?.on('error', () => undefined).write('ls\n');
    const errors = text(client.stderr as NodeJS.ReadableStream);
    const exited = once(client, 'exit');
    await Promise.race([
      once(client.stdout as NodeJS.ReadableStream, 'data'),
      exited.then(async () => assert.fail(await errors)),
    ]);
    client.stdout?.resume();
    await end();
    const begunMs = performance.now();
    // At its prompt it does not notice that its connection has ended.
    const asking = setInterval(() => client.stdin?.write('ls\n'), 50);
    await exited.finally(() => clearInterval(asking));
    const tookMs = performance.now() - begunMs;
    t.diagnostic(`cut after ${Math.round(tookMs)} ms`);
    // By the notice, and not by the check of every 30 s.
    assert.ok(tookMs < 15_000, `${tookMs} ms`);
    const again = begin(...method);
    again.stdin?.on('error', () => undefined).end('ls\n');
    const [code] = (await once(again, 'exit')) as [number | null];
    assert.notEqual(code, 0);
  }

  async function personId(): Promise<number> {
    const { body } = await stack.api.call<{ data: { people: { id: number; email: string }[] } }>(
      'GET',
      `${SERVER}/people`,
    );
    return body.data.people.find(({ email }) => email === EMAIL)?.id ?? 0;
  }

  async function setRights(rights: readonly string[]): Promise<void> {
    const path = `${SERVER}/people/${await personId()}`;
    const { status, body } = await stack.api.call('PUT', path, { rights });
    assert.equal(status, 200, JSON.stringify(body));
  }

  it('meet the key of the host that the interface shows', async (t) => {
    await makePassword();
    const client = begin();
    client.stdin?.end('ls\n');
    const [code] = (await once(client, 'exit')) as [number | null];
    assert.equal(code, 0, await text(client.stderr as NodeJS.ReadableStream));
    const shown = (await stack.api.call<Place>('GET', `${SERVER}/sftp`)).body.data;
    const known = execFileSync('ssh-keygen', ['-lf', join(home, 'known')], { encoding: 'utf8' });
    assert.ok(known.includes(String(shown?.fingerprint)), known);
    const own = (await call('GET', `/organisations/acme/x1/game-servers/${UUID}/sftp`)).data;
    assert.match(
      String(own['url']),
      /^sftp:\/\/friend%40example\.net\.7c9b2c1e@127\.0\.0\.1:2022$/,
    );
    t.diagnostic(readFileSync(join(home, 'known'), 'utf8').trim());
  });

  it('end with the right to connect', async (t) => {
    await makePassword();
    try {
      await cut(t, () => setRights(RIGHTS.filter((right) => right !== 'file.sftp')));
    } finally {
      await setRights(RIGHTS);
    }
  });

  it('end with their password', async (t) => {
    const id = await makePassword();
    await cut(t, () => call('DELETE', `/account/sftp-passwords/${id}`));
  });

  it('end with their key', async (t) => {
    await call('POST', '/account/ssh-keys', {
      name: 'key',
      public_key: readFileSync(join(home, 'id.pub'), 'utf8').trim(),
      password: PASSWORD,
    });
    const { data } = await call('GET', '/account/sftp');
    const [key] = data['keys'] as { id: number }[];
    await cut(t, () => call('DELETE', `/account/ssh-keys/${key?.id}`), true);
  });

  it('end when the server is suspended', async (t) => {
    await makePassword();
    try {
      await cut(t, () => stack.applyFleet(fleetOf(true)));
    } finally {
      await stack.applyFleet(fleetOf(false));
      await eventually('the node knows that it is over', async () => {
        const { status } = await stack.api.call('GET', `${SERVER}/files`);
        return status === 200;
      });
    }
  });

  it('end when the person is removed from the server', async (t) => {
    await makePassword();
    const path = `${SERVER}/people/${await personId()}`;
    await cut(t, () => stack.api.call('DELETE', path));
  });
});

interface Place {
  readonly data?: { readonly port: number | null; readonly fingerprint: string | null };
}

const SINCE = 'since: "2026-01-01T00:00:00+00:00"';

function fleetOf(suspended: boolean): string {
  return `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, ${SINCE} }]
    services:
      - { id: 501, name: worlds, addresses: [{ ip: ${HOST[4]}, ${SINCE} }] }
    keys:
      - { name: lab, abilities: [firewall.read, game-servers.read, game-servers.manage, game-servers.files, game-servers.settings], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
nodes:
  - { name: games }
game_servers:
  - uuid: ${UUID}
    organisation: acme
    service: 501
    name: Hearth
    node: games
    egg: eggs/hearth.json
    limits: { memory: 256, cpu: 100, disk: 256 }
    allocation: { ip: ${HOST[4]}, port: 7777 }
    suspended: ${suspended}
`;
}
