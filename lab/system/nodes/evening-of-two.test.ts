import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { FileHost } from '../../stack/file-host.ts';
import { eventually } from '../stack-fixture.ts';
import { beginUpload, finishUpload, readWhole } from './uploads.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'portcullis');
const PATIENCE_MS = 120_000;
const PASSWORD = 'correct horse battery 9';
const FRIEND = 'friend@example.net';
/** Console and restart alone; then also to look at files, by SFTP. */
const FEW = ['control.console', 'control.restart'];
const MORE = [...FEW, 'file.sftp', 'file.read'];
const JSON_TYPE = { 'content-type': 'application/json' };
const [A, B] = [0, 1];

interface Server {
  readonly uuid: string;
  readonly name: string;
  readonly node: string;
}

/** Two nodes over NATS, two replicas, and the people of an evening: an organisation with a key, and its friend. */
class Evening {
  static async start(t: TestContext): Promise<Evening> {
    const options = { replicas: 2, overNats: true, sftp: true, gameNodes: 2 };
    const host = await FileHost.start(t, options);
    t.after(() => host.stop());
    return new Evening(host);
  }

  readonly host: FileHost;
  readonly home: string;
  #cookie = '';
  #friend = 0;

  private constructor(host: FileHost) {
    this.host = host;
    this.home = join(host.home, 'home');
    mkdirSync(this.home);
    writeFileSync(join(this.home, 'ask'), '#!/bin/sh\nexec cat "$0.secret"\n', { mode: 0o700 });
  }

  /** Runs the command through a replica; what it prints. */
  async command(replica: number, ...args: readonly string[]): Promise<string> {
    const { host, home } = this;
    const env = { PORTCULLIS_URL: host.url(replica), PORTCULLIS_API_KEY: host.key, HOME: home };
    const child = spawn(LAUNCHER, args, { env: { ...process.env, ...env } });
    child.stdin.end();
    const written = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = (await once(child, 'exit')) as [number | null];
    const [output, errors] = await written;
    assert.equal(code, 0, `${args.join(' ')}: ${output}${errors}`);
    return output;
  }

  /** Makes a server from the library on a node, and waits until it is built. */
  async make(replica: number, name: string, node: string): Promise<Server> {
    const size = ['--memory', '256', '--disk', '512'];
    const where = ['--node', node, '--wait', '--json'];
    await this.command(
      replica,
      'servers',
      'create',
      name,
      '--egg',
      'eggs/hearth.json',
      ...size,
      ...where,
    );
    const { data } = JSON.parse(await this.command(replica, 'servers', 'list', '--json')) as {
      readonly data: readonly Server[];
    };
    return data.find((one) => one.name === name) ?? assert.fail(`no ${name}`);
  }

  /** Calls an operation of the organisation's key through a replica. */
  async call(replica: number, method: string, path: string, body?: object): Promise<unknown> {
    const reply = await fetch(`${this.host.url(replica)}/api/x1/game-servers${path}`, {
      method,
      headers: { authorization: `Bearer ${this.host.key}`, ...JSON_TYPE },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await reply.json()) as { readonly data?: unknown };
    assert.ok(reply.ok, `${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.data;
  }

  /** Calls an operation of the portal as the friend. */
  async asFriend(replica: number, path: string, body: object): Promise<unknown> {
    const reply = await fetch(`${this.host.url(replica)}/api/portal${path}`, {
      method: 'POST',
      headers: { 'x-portcullis-csrf': '1', cookie: this.#cookie, ...JSON_TYPE },
      body: JSON.stringify(body),
    });
    const answer = (await reply.json()) as { readonly data?: unknown };
    assert.ok(reply.ok, `${path}: ${JSON.stringify(answer)}`);
    const [set] = reply.headers.getSetCookie();
    if (set !== undefined) this.#cookie = set.split(';')[0] ?? '';
    return answer.data;
  }

  /** Invites the friend through one replica, who accepts through the other and makes an SFTP password there. */
  async invite({ uuid }: Server, rights: readonly string[]): Promise<void> {
    const body = { email: FRIEND, rights };
    const { url } = (await this.call(A, 'POST', `/${uuid}/people`, body)) as { url: string };
    const token = new URL(url).hash.slice(1);
    const person = { token, email: FRIEND, name: 'Friend', password: PASSWORD };
    await this.asFriend(B, '/links/accept', person);
    const wanted = { name: 'laptop', days: 1, password: PASSWORD };
    const made = (await this.asFriend(A, '/account/sftp-passwords', wanted)) as {
      readonly password: string;
    };
    writeFileSync(join(this.home, 'ask.secret'), made.password);
    const { people } = (await this.call(B, 'GET', `/${uuid}/people`)) as {
      readonly people: readonly { readonly id: number; readonly email: string }[];
    };
    this.#friend = people.find(({ email }) => email === FRIEND)?.id ?? assert.fail('no friend');
  }

  async setRights(replica: number, { uuid }: Server, rights: readonly string[]): Promise<void> {
    await this.call(replica, 'PUT', `/${uuid}/people/${this.#friend}`, { rights });
  }

  async removeFriend(replica: number, { uuid }: Server): Promise<void> {
    await this.call(replica, 'DELETE', `/${uuid}/people/${this.#friend}`);
  }

  connect({ uuid, node }: Server): ChildProcess {
    const { home, host } = this;
    const options = [
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'ConnectTimeout=60',
    ];
    const port = host.sftpPorts[node === 'node-1' ? 0 : 1];
    const args = [...options.flatMap((one) => ['-o', one]), '-q', '-P', String(port)];
    const asking = { SSH_ASKPASS: join(home, 'ask'), SSH_ASKPASS_REQUIRE: 'force' };
    return spawn('sftp', [...args, `${FRIEND}.${uuid.slice(0, 8)}@127.0.0.1`], {
      cwd: home,
      env: { ...process.env, ...asking, SSH_AUTH_SOCK: '', HOME: home },
    });
  }

  /** Runs commands of OpenSSH's sftp as the friend; its exit code and what it wrote. */
  async sftp(server: Server, commands: string): Promise<{ code: number; output: string }> {
    const client = this.connect(server);
    client.stdin?.on('error', () => undefined).end(`${commands}\n`);
    const written = Promise.all(
      [client.stdout, client.stderr].map((part) => text(part as NodeJS.ReadableStream)),
    );
    const [code] = (await once(client, 'exit')) as [number | null];
    return { code: code ?? -1, output: (await written).join('') };
  }

  async letsIn(server: Server): Promise<void> {
    const isIn = async (): Promise<boolean> => (await this.sftp(server, 'ls')).code === 0;
    await eventually('the friend is let in', isIn, PATIENCE_MS);
  }

  /** Connects as the friend, ends its rights, and waits until the session has ended. Returns after how many ms. */
  async cut(server: Server, end: () => Promise<void>): Promise<number> {
    const inside = this.connect(server);
    inside.stdin?.on('error', () => undefined).write('ls\n');
    inside.stderr?.resume();
    const ended = once(inside, 'exit');
    const [shown] = (await Promise.race([
      once(inside.stdout as NodeJS.ReadableStream, 'data'),
      ended.then(() => assert.fail('it was not let in')),
    ])) as [Buffer];
    assert.ok(shown.length > 0);
    inside.stdout?.resume();
    await end();
    const begunMs = performance.now();
    // At its prompt it does not notice that its connection has ended.
    const asking = setInterval(() => inside.stdin?.write('ls\n'), 100);
    await ended.finally(() => clearInterval(asking));
    assert.notEqual((await this.sftp(server, 'ls')).code, 0);
    return performance.now() - begunMs;
  }
}

describe("a community's evening on two nodes over NATS, with two replicas", {
  skip: skipUnless(['postgres', 'nats-server', 'sshd']),
}, () => {
  it('goes on by the other replica when the one with the upload is killed, and rights end by either', async (t) => {
    const evening = await Evening.start(t);
    const { host, home } = evening;
    const first = await evening.make(A, 'First', 'node-1');
    const second = await evening.make(B, 'Second', 'node-2');
    assert.deepEqual([first.node, second.node], ['node-1', 'node-2']);

    const plugins = join(home, 'plugins');
    const bytes = randomBytes(24 * 1024 * 1024);
    mkdirSync(join(plugins, 'Maps'), { recursive: true });
    writeFileSync(join(plugins, 'maps.js'), 'module.exports = () => {}\n');
    writeFileSync(join(plugins, 'Maps', 'config.yml'), 'tiles: 9\n');
    writeFileSync(join(plugins, 'world.zip'), bytes);
    // Servers name times in seconds, and what has changed since is uploaded again.
    const before = new Date(Date.now() - 3_600_000);
    utimesSync(join(plugins, 'world.zip'), before, before);
    const world = { host, path: 'plugins/world.zip', bytes, server: second.uuid };
    const upload = await beginUpload({ ...world, replica: A });
    await host.kill('control', A);
    upload.destroy();
    const from = await finishUpload({ ...world, replica: B });
    assert.ok(from > 1024 * 1024, `it went on from ${from}`);
    const put = await evening.command(B, 'servers', 'files', 'put', 'Second', plugins, 'plugins');
    assert.match(put, /2 files, .* 1 were there already/);
    assert.ok((await readWhole({ ...world, replica: B })).equals(bytes));

    const settings = `/content?path=server.properties`;
    const edit = (content: string, match: object = {}) => {
      const headers = { ...JSON_TYPE, ...match };
      const init = { method: 'PUT', headers, body: JSON.stringify({ content }) };
      return host.call(settings, init, B, second.uuid);
    };
    const isWritten = async (): Promise<boolean> => (await edit('max-players=20\n')).status === 200;
    await eventually('the settings are written', isWritten, PATIENCE_MS);
    const opened = await host.call(settings, {}, B, second.uuid);
    const seen = { 'if-match': opened.headers.get('etag') ?? assert.fail('no ETag') };
    assert.equal((await edit('max-players=200\n', seen)).status, 200);
    assert.equal((await edit('max-players=2\n', seen)).status, 412);

    await host.startControl(A);
    await host.serving(second.uuid);
    await evening.invite(second, FEW);
    assert.notEqual((await evening.sftp(second, 'ls')).code, 0);
    await evening.setRights(A, second, MORE);
    await evening.letsIn(second);
    const { output } = await evening.sftp(
      second,
      'ls\nput ask plugins/ask\nget server.properties back',
    );
    assert.match(output, /plugins/);
    assert.equal(output.match(/[Pp]ermission denied/g)?.length, 2, output);
    assert.notEqual((await evening.sftp(first, 'ls')).code, 0);

    // The node talks to one of the replicas, so one of these changes was taken by the other.
    const byA = await evening.cut(second, () => evening.setRights(A, second, FEW));
    await evening.setRights(A, second, MORE);
    await evening.letsIn(second);
    const byB = await evening.cut(second, () => evening.removeFriend(B, second));
    t.diagnostic(`cut after ${Math.round(byA)} ms by A, ${Math.round(byB)} ms by B`);
    // By the notice, and not by the check of every 30 s.
    assert.ok(Math.max(byA, byB) < 15_000, `${byA} ms, ${byB} ms`);
  });
});
