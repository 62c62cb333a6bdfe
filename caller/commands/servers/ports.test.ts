import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { CommandSession } from '@portcullis/cli/testing/run.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

test('ports of a server are added, named, made the first one and removed', async (t) => {
  const world = await startEnvironment(t);
  const { db } = world;
  await addNode(db, 'node-1');
  await addServer(db, { number: 1, name: 'Survival' });
  await db.updateTable('game_servers').set({ port_limit: 2 }).execute();
  const offer = { addresses: ['198.51.100.10'], given_ports: '25570-25580' };
  await db.updateTable('nodes').set(offer).execute();
  const env = {
    PATH: process.env['PATH'],
    HOME: tmpdir(),
    PORTCULLIS_API_KEY: (world.acme.authorization ?? '').replace('Bearer ', ''),
    PORTCULLIS_URL: world.url,
  };
  const run = (...args: readonly string[]) => session.run(['servers', 'ports', ...args], env);
  const added = await run('add', 'Survival', '--name', 'voice', '--protocol', 'udp');
  assert.deepEqual([added.code, added.err], [0, '']);
  assert.match(added.out, /^Survival has it at its next start/);
  const full = await run('add', 'Survival');
  assert.equal(full.code, 1);
  assert.match(full.err, /may have 2 ports, and has them/);
  assert.match((await run('list', 'Survival')).out, /198\.51\.100\.10 +25570 +udp +voice +people/);
  assert.equal((await run('set', 'Survival', '198.51.100.10 25570', '--name', 'query')).code, 0);
  assert.equal((await run('primary', 'Survival', '25570')).code, 0);
  assert.match((await run('list', 'Survival')).out, /25570 +tcp udp +query \(first\)/);
  assert.notEqual((await run('remove', 'Survival', '25570')).code, 0);
  assert.equal((await run('primary', 'Survival', '20001')).code, 0);
  assert.equal((await run('remove', 'Survival', '25570')).code, 0);
  const json = JSON.parse((await run('list', 'Survival', '--json')).out) as {
    data: { ports: object[] };
  };
  assert.equal(json.data.ports.length, 1);
  for (const [args, why] of [
    [['remove', 'Survival', '1'], /has no port 1/],
    [['add', 'Survival', '--protocol', 'icmp'], /none of tcp, udp and both/],
    [['add', 'Survival', '--port', '0'], /0 is no port/],
  ] as const) {
    assert.match((await run(...args)).err, why);
  }
});
