import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CommandSession, RunningCommand } from '@portcullis/cli/testing/run.ts';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const IP = '203.0.113.10';

async function startPlace(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-messages-'));
  const world = await startEnvironment(t);
  await world.db.updateTable('organisations').set({ requests_per_minute: 1_000_000 }).execute();
  const session = new CommandSession({ PATH: process.env['PATH'], HOME: home, TZ: 'UTC' });
  t.after(async () => {
    await session.close();
    rmSync(home, { recursive: true, force: true });
  });
  const key = (world.acme.authorization ?? '').replace('Bearer ', '');
  const env = { PORTCULLIS_URL: world.url, PORTCULLIS_API_KEY: key };
  return { home, env, world, run: (...args: readonly string[]) => session.run(args, env) };
}

test('says what is wrong with a value in words of the command', async (t) => {
  const { home, env, run } = await startPlace(t);
  const path = join(home, 'rules.yaml');
  writeFileSync(
    path,
    `addresses:\n  ${IP}:\n    rules:\n      - { action: allow, protocol: tcp, destination_port: 22,80,443 }\n`,
  );
  const cases: readonly (readonly [args: readonly string[], code: number, says: RegExp])[] = [
    [
      ['drops', IP, '--from', 'yesterday'],
      2,
      /--from yesterday is not a time: .*such as 90m, 12h or 7d/,
    ],
    [['firewall', 'block', 'nonsense'], 2, /^portcullis: nonsense is not an address or a network/],
    [
      ['explain', IP, '--protocol', 'tcp', '--port', '22', '--from', '2001:db8::7'],
      2,
      /--from 2001:db8::7 is not an IPv4 address, as 203\.0\.113\.10 is/,
    ],
    [
      ['firewall', 'filter', 'add', IP, 'minecraft', '25565'],
      2,
      /there is no filter "minecraft"\. Did you mean "minecraft-[a-z]+"\? "portcullis firewall catalogue 203\.0\.113\.10" lists/,
    ],
    [['firewall', 'plan', '-f', path], 2, /rules\.yaml:4:\d+: In \{ \} a list of ports is quoted/],
    [
      ['firewall', 'plan', '-f', join(home, 'none.yaml')],
      2,
      /none\.yaml cannot be read: it does not exist/,
    ],
  ];
  for (const [args, code, says] of cases) {
    const done = await run(...args);
    assert.equal(done.code, code, `${args.join(' ')}: ${done.err}`);
    assert.match(done.err, says);
    assert.doesNotMatch(done.err.replaceAll(home, 'home'), / \/[a-z_]+/, args.join(' '));
  }
  await run('firewall', 'filter', 'add', IP, 'udp-stateful', '27015');
  assert.match((await run('firewall', 'filter', 'list', IP)).out, /udp-stateful +27015/);
  const refused = new RunningCommand(['whoami'], {
    PATH: process.env['PATH'],
    ...env,
    PORTCULLIS_URL: 'http://127.0.0.1:9',
  });
  const { err, code } = await refused.end();
  assert.equal(code, 69);
  assert.equal(
    err,
    'portcullis: The service cannot be reached: programs refuse to connect to this port of --url.\n',
  );
});

test('attacks watch says that it watches', async (t) => {
  const { env } = await startPlace(t);
  const watching = new RunningCommand(['attacks', 'watch'], { PATH: process.env['PATH'], ...env });
  await watching.prints(/Watching; an attack is printed as it starts/, 'err');
  await watching.stop();
});

test('servers have their state in the list, and to whom their ports are open', async (t) => {
  const { run, world } = await startPlace(t);
  const node = await new TestNode(world.nodes, 'node-1', await addNode(world.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(world.db, { number: 1 });
  await world.db.updateTable('game_servers').set({ open_while_running: true }).execute();
  const uuid = uuidOf(1);
  assert.match((await run('servers', 'list')).out, /^NAME +UUID +STATE +ADDRESS/);
  const openOf = async () => {
    const { out } = await run('servers', 'list', '--json', '--open');
    const { data } = JSON.parse(out) as { data: Record<string, unknown>[] };
    const [server] = data;
    assert.ok(server !== undefined && 'state' in server && 'allocation' in server);
    const { ip } = server['allocation'] as { ip: string };
    const to = (server['open_to'] as { to: string }[]).map((one) => one.to);
    return { ip, to: [...new Set(to)] };
  };
  const { ip, to } = await openOf();
  assert.deepEqual(to, ['everyone']);
  await run('firewall', 'lockdown', ip, '--yes');
  assert.deepEqual((await openOf()).to, ['nobody']);
  const closed = await run('servers', 'show', uuid);
  assert.match(closed.out, /^firewall +tcp \d+: closed\. Closed to everyone: no rule matches/m);
  // What the portal said "Closed" of: the default denies, and the server opens its ports while it runs.
  await node.beat({ uuid, power: 'running' });
  await run('firewall', 'block', '192.0.2.7');
  assert.deepEqual((await openOf()).to, ['most']);
  const open = await run('servers', 'show', uuid);
  assert.match(
    open.out,
    /^firewall +tcp \d+: open, but not to all\. .*the open port of a running game server.*blocked sources/m,
  );
  await world.db.updateTable('game_servers').set({ suspended: true }).execute();
  assert.match((await run('servers', 'show', uuid)).out, /^.*, suspended by the operator\n/);
});
