import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MAIN, runToEnd } from './testing/run.ts';

/** Of one command, the first start of a database included. */
const LIMIT_MS = 45_000;

interface Started {
  readonly url: string;
  readonly mode: string;
  readonly keys: readonly { readonly key: string }[];
  readonly addresses: readonly string[];
  readonly node: { readonly engine: string; readonly problem: string | null } | null;
  readonly server: { readonly uuid: string; readonly problem: string | null } | null;
}

suite('one `up`, driven by the real commands', { timeout: 170_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-cli-'));
  const data = join(folder, 'data');
  const env = { PATH: process.env['PATH'], HOME: folder, PORTCULLIS_DATA: data };
  let up: ChildProcess | undefined;
  let first: Started;

  before(async () => {
    // As root, PostgreSQL is another account and has to get through.
    chmodSync(folder, 0o711);
    ({ up, first } = await start());
  });
  after(async () => {
    if (up?.exitCode === null) await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the first start prints one JSON document with a key that reads its address', async () => {
    assert.equal(first.mode, 'observe');
    assert.equal(await read(first.keys[0]?.key ?? ''), 200);
  });

  test('the first start makes a game server, builds and starts it: all four operations meet it alive', async () => {
    assert.deepEqual(first.node, { name: 'local', engine: 'process', problem: null });
    assert.equal(first.server?.problem, null);
    const uuid = first.server?.uuid ?? '';
    const listed = await api('GET', '');
    assert.deepEqual(
      (listed.data as readonly { uuid: string; provisioned: boolean }[]).map((one) => [
        one.uuid,
        one.provisioned,
      ]),
      [[uuid, true]],
    );
    // What it uses is measured about once a second, and unmeasured it is null.
    let used = 0;
    for (let tries = 0; used === 0 && tries < 300; tries += 1) {
      const { state, resources } = (await api('GET', `/${uuid}`)).data as Record<string, unknown>;
      assert.equal(state, 'running');
      used = (resources as { memory_bytes: number } | null)?.memory_bytes ?? 0;
      await delay(100);
    }
    assert.ok(used > 0);
    const accepted = { ok: true, message: '' };
    assert.deepEqual(
      await api('POST', `/${uuid}/command`, { command: 'say hello there' }),
      accepted,
    );
    assert.deepEqual(await api('POST', `/${uuid}/power`, { signal: 'start' }), accepted);
  });

  test('servers: shown, stopped, started and read by the commands, by name', async () => {
    const access = ['--url', first.url, '--key', first.keys[0]?.key ?? ''];
    const listed = await portcullis('servers', 'list', '--json', ...access);
    assert.equal((JSON.parse(listed.out) as { servers: unknown[] }).servers.length, 1);
    const logs = await portcullis('servers', 'logs', 'Hearth', ...access);
    assert.match(logs.out, /hello there/);
    const following = follow('servers', 'logs', 'Hearth', '--follow', ...access);
    await following.says('said to 0: hello there');
    await portcullis('servers', 'command', 'Hearth', 'say', 'once more', ...access);
    const followed = await following.says('said to 0: once more');
    following.stop();
    for (const line of ['said to 0: hello there', 'said to 0: once more'])
      assert.equal(followed.split(line).length, 2, 'each once');
    for (const [signal, state] of [
      ['restart', 'running'],
      ['stop', 'offline'],
      ['start', 'running'],
    ]) {
      const power = await portcullis(
        'servers',
        'power',
        signal ?? '',
        'Hearth',
        '--wait',
        ...access,
      );
      assert.equal(power.code, 0, power.err);
      assert.match(power.out, new RegExp(`^Hearth is ${state}, after`));
    }
    const refused = await portcullis('servers', 'power', 'explode', 'Hearth', ...access);
    assert.equal(refused.code, 2);
    const unknown = await portcullis('servers', 'show', 'Nobody', ...access);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /sees no server Nobody/);
  });

  test('a command to a server that is offline is refused in the words of its node, as exit code 1', async () => {
    const access = ['--url', first.url, '--key', first.keys[0]?.key ?? ''];
    await portcullis('servers', 'power', 'stop', 'Hearth', '--wait', ...access);
    const { code, err } = await portcullis('servers', 'command', 'Hearth', 'list', ...access);
    assert.equal(code, 1);
    assert.match(err, /The node refused: .*offline/);
    await portcullis('servers', 'power', 'start', 'Hearth', '--wait', ...access);
  });

  test('nodes: the local one is connected; another credential is given once, to a node that there is', async () => {
    const { out } = await portcullis('nodes', 'list', '--json');
    const { nodes } = JSON.parse(out) as { nodes: { name: string; connected: boolean }[] };
    assert.deepEqual(
      nodes.map(({ name, connected }) => [name, connected]),
      [['local', true]],
    );
    const none = await portcullis('nodes', 'enrol', 'nowhere');
    assert.equal(none.code, 1);
    assert.match(none.err, /no node nowhere/);
  });

  test('explain answers with the verdict and what decides', async () => {
    const [ip = ''] = first.addresses;
    const options = ['--protocol', 'udp', '--port', '9', '--from', '192.0.2.7', '--url', first.url];
    const key = ['--key', first.keys[0]?.key ?? ''];
    const { code, out } = await portcullis('explain', ip, ...options, ...key, '--json');
    assert.equal(code, 0);
    assert.equal((JSON.parse(out) as { data: { verdict: string } }).data.verdict, 'pass');
  });

  test('a second `up` on the same data is refused, and says what to do', async () => {
    const { code, out, err } = await portcullis('up');
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(err, /another portcullis is up on .*--data/);
  });

  test('a created key works, and a revoked one is refused within two seconds', async () => {
    const options = ['--organisation', 'default', '--name', 'ci', '--ability', 'firewall.read'];
    const created = await portcullis('keys', 'create', ...options, '--json');
    const { id, key } = JSON.parse(created.out) as { id: number; key: string };
    assert.equal(await read(key), 200);
    assert.equal((await portcullis('keys', 'revoke', String(id))).code, 0);
    await delay(2_000);
    assert.equal(await read(key), 401);
    const { out } = await portcullis('keys', 'list', '--json');
    const listed = JSON.parse(out) as readonly { id: number; revoked_at: string | null }[];
    assert.notEqual(listed.find((one) => one.id === id)?.revoked_at, null);
    assert.equal(out.includes(key), false);
  });

  test('a refusal of control is a sentence with the place, and exit code 1', async () => {
    const options = ['--organisation', 'default', '--name', 'x', '--ability', 'no.such'];
    const { code, err } = await portcullis('keys', 'create', ...options);
    assert.equal(code, 1);
    assert.match(err, /abilities.*is no ability/);
    assert.equal(
      (await portcullis('keys', 'revoke', '999999')).err,
      'portcullis: There is no key 999999.\n',
    );
  });

  test('SIGINT stops everything; the second start keeps the data and prints no key', async () => {
    assert.equal(await stop(), 0);
    await assert.rejects(fetch(first.url));
    const again = await start();
    up = again.up;
    assert.deepEqual(again.first.keys, []);
    const { key } = first.keys[0] ?? { key: '' };
    first = { ...first, url: again.first.url };
    assert.equal(await read(key), 200);
  });

  test('stopped and started again and again, its game server runs on, and nothing takes that for a crash', async () => {
    for (let times = 0; times < 2; times += 1) {
      assert.equal(await stop(), 0);
      const again = await start();
      up = again.up;
      first = { ...first, url: again.first.url };
    }
    const access = ['--url', first.url, '--key', first.keys[0]?.key ?? ''];
    let state: unknown;
    const until = performance.now() + LIMIT_MS;
    while (state !== 'running' && performance.now() < until) {
      const shown = await api('GET', `/${first.server?.uuid}`);
      state = (shown.data as { state: unknown }).state;
      if (state !== 'running') await delay(100);
    }
    assert.equal(state, 'running');
    assert.doesNotMatch(
      (await portcullis('servers', 'logs', 'Hearth', ...access)).out,
      /crash|by itself/,
    );
  });

  async function start(): Promise<{ up: ChildProcess; first: Started }> {
    const args = ['up', '--listen', '127.0.0.1:0', '--metrics-listen', 'off', '--json'];
    const child = spawn(process.execPath, [MAIN, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8');
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      text += String(chunk);
      if (text.endsWith('}\n')) break;
    }
    return { up: child, first: JSON.parse(text) as Started };
  }

  async function stop(): Promise<number | null> {
    const gone = once(up as ChildProcess, 'exit') as Promise<[number | null]>;
    up?.kill('SIGINT');
    return (await gone)[0];
  }

  async function read(key: string): Promise<number> {
    const response = await fetch(`${first.url}/api/v1/firewall/ips/${first.addresses[0]}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await response.body?.cancel();
    return response.status;
  }

  async function api(method: string, path: string, body?: object) {
    const response = await fetch(`${first.url}/api/v1/game-servers${path}`, {
      method,
      headers: {
        authorization: `Bearer ${first.keys[0]?.key ?? ''}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Record<string, unknown>;
  }

  /** A command that runs until it is stopped. */
  function follow(...args: readonly string[]) {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: LIMIT_MS,
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    return {
      stop: () => child.kill('SIGINT'),
      says: async (wanted: string): Promise<string> => {
        while (!out.includes(wanted) && child.exitCode === null && child.signalCode === null)
          await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
        assert.ok(out.includes(wanted), out);
        return out;
      },
    };
  }

  const portcullis = (...args: readonly string[]) => runToEnd(args, env, LIMIT_MS);
});
