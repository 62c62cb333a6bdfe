import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from './testing/eventually.ts';
import { freePort } from './testing/free-port.ts';
import { CommandSession, RunningCommand } from './testing/run.ts';
import { leaveUsualPort } from './testing/usual-port.ts';

interface Started {
  readonly url: string;
  readonly keys: readonly { readonly key: string }[];
  readonly addresses: readonly string[];
  readonly server: { readonly uuid: string } | null;
}

/** A folder with commands in it, and an `up` on a fixed port for each data folder. */
function provide(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-backup-'));
  // As root, PostgreSQL runs as another account, which must traverse the folder.
  chmodSync(folder, 0o711);
  const env = { PATH: process.env['PATH'], HOME: folder };
  const session = new CommandSession(env);
  const running: RunningCommand[] = [];
  t.after(async () => {
    for (const up of running) if (up.child.exitCode === null) await up.stop();
    await session.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    run: (...args: readonly string[]) => session.run(args),
    async up(data: string): Promise<{ command: RunningCommand; started: Started }> {
      const listen = ['--listen', `127.0.0.1:${await freePort()}`, '--metrics-listen', 'off'];
      const command = new RunningCommand(['up', '--data', data, '--json', ...listen], env);
      running.push(command);
      return { command, started: JSON.parse(await command.prints(/\}\n$/)) as Started };
    },
  };
}

function callerOf({ url, keys, addresses }: Started) {
  const headers = {
    authorization: `Bearer ${keys[0]?.key}`,
    'content-type': 'application/json',
  };
  const call = async (path: string, body?: object): Promise<unknown> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const reply = await fetch(`${url}${path}`, { headers, ...init });
    return reply.json();
  };
  const rules = `/api/v1/firewall/ips/${addresses[0]}/rules`;
  return {
    async deny(port: number): Promise<void> {
      const rule = { action: 'deny', protocol: 'tcp', destination_port: `${port}` };
      const answer = await call(rules, rule);
      assert.ok('data' in Object(answer), JSON.stringify(answer));
    },
    /** Null while control restarts. */
    async denied(): Promise<number[] | null> {
      const read = call(`/api/v1/firewall/ips/${addresses[0]}`).catch(() => null);
      const { data } = Object(await read) as { data?: { rules: Rule[] } };
      if (data === undefined) return null;
      return data.rules
        .filter(({ action }) => action === 'deny')
        .map((rule) => rule.destination_port);
    },
    async start(uuid: string): Promise<boolean> {
      const answer = await call(`/api/v1/game-servers/${uuid}/power`, { signal: 'start' });
      return (answer as { ok?: boolean }).ok === true;
    },
    async uptime(uuid: string): Promise<number | null> {
      const read = call(`/api/v1/game-servers/${uuid}`).catch(() => null);
      const { data } = Object(await read) as { data?: { state: string; resources: Use | null } };
      return data?.state === 'running' ? (data.resources?.uptime ?? null) : null;
    },
  };
}

interface Rule {
  readonly action: string;
  readonly destination_port: number;
}
interface Use {
  readonly uptime: number;
}

suite('backup and restore by the command', { timeout: 170_000 }, () => {
  test('into the platform that runs, whose game server runs on, and on a host that has nothing', async (t) => {
    const { folder, run, up } = provide(t);
    const data = join(folder, 'data');
    t.after(await leaveUsualPort());
    const { command, started } = await up(data);
    const caller = callerOf(started);
    const uuid = started.server?.uuid ?? '';
    await caller.deny(81);
    await eventually('the server is measured', async () => (await caller.uptime(uuid)) !== null);
    const file = join(folder, 'backup.gz');
    const made = await run('backup', file, '--data', data);
    assert.equal(made.code, 0, made.err);
    assert.match(made.out, /backup\.gz has \d+ rows of \d+ tables, as of generation \d+/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await caller.deny(82);
    assert.deepEqual(await caller.denied(), [81, 82]);

    const refused = await run('restore', file, '--data', data);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /was not restored: the database is in use: 1 organisations.*--force/);
    const restored = await run('restore', file, '--data', data, '--force', '--json');
    assert.equal(restored.code, 0, restored.err);
    const ranForMs = await caller.uptime(uuid).catch(() => null);
    const rulesAre = async (wanted: readonly number[]) =>
      JSON.stringify(await caller.denied()) === JSON.stringify(wanted);
    // Until then the control that has yet to stop may answer, and refuse the next write.
    await eventually('control restarts', async () =>
      /control ended .* starting it again/.test(command.err),
    );
    await eventually('its rules are those of the backup', () => rulesAre([81]));
    await eventually('the game server ran on', async () => {
      const now = await caller.uptime(uuid);
      return now !== null && now >= (ranForMs ?? 0);
    });
    await caller.deny(83);
    await eventually('it takes writes', () => rulesAre([81, 83]));
    assert.equal((await command.stop()).code, 0);

    const elsewhere = join(folder, 'other');
    const fresh = await run('restore', file, '--data', elsewhere);
    assert.equal(fresh.code, 0, fresh.err);
    const { started: there } = await up(elsewhere);
    const theirs = callerOf({ ...started, url: there.url });
    assert.deepEqual(await theirs.denied(), [81]);
    // Built anew, and stopped: its files are those of a new server.
    await eventually('its game server can be started, and runs', async () => {
      if ((await theirs.uptime(uuid)) !== null) return true;
      // Again, if another program had its port.
      await theirs.start(uuid);
      await delay(500);
      return false;
    });
  });

  test('a file that cannot be written, or is none, is named, and nothing is left', async (t) => {
    const { folder, run } = provide(t);
    const data = join(folder, 'data');
    const absent = await run('backup', join(folder, 'x.gz'), '--data', data);
    assert.equal(absent.code, 69);
    assert.match(absent.err, /there is no Portcullis in/);
    const foreign = join(folder, 'notes.txt');
    writeFileSync(foreign, 'hello');
    const taken = await run('backup', foreign, '--data', data);
    assert.equal(taken.code, 2);
    assert.match(taken.err, /exists already/);
    const none = await run('restore', foreign, '--data', data);
    assert.equal(none.code, 1);
    assert.match(none.err, /notes\.txt was not restored: it is damaged, or no backup/);
    const missing = await run('restore', join(folder, 'absent.gz'), '--data', data);
    assert.equal(missing.code, 2);
    const empty = await run('backup', join(folder, 'y.gz'), '--data', data);
    assert.equal(empty.code, 1);
    assert.match(empty.err, /y\.gz was not written: the database is empty/);
    const nowhere = await run('backup', join(folder, 'no', 'such', 'x.gz'), '--data', data);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.err, /x\.gz was not written: .*no such file or directory/);
    assert.deepEqual(readdirSync(folder).toSorted(), ['data', 'notes.txt']);
  });
});
