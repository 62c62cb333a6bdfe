import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { CommandSession } from '@portcullis/cli/testing/run.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

test('people of a server are invited, listed and removed, and activity says so', async (t) => {
  const world = await startEnvironment(t);
  await addNode(world.db, 'node-1');
  await addServer(world.db, { number: 1, name: 'Survival' });
  const key = await world.client({
    abilities: ['game-servers.read', 'game-servers.manage', 'game-servers.settings'],
  });
  const env = {
    PATH: process.env['PATH'],
    HOME: tmpdir(),
    PORTCULLIS_API_KEY: (key.authorization ?? '').replace('Bearer ', ''),
    PORTCULLIS_URL: world.url,
  };
  const run = (...args: readonly string[]) => session.run(['servers', ...args], env);
  const nobody = await run('people', 'list', 'Survival');
  assert.match(nobody.out, /^Nobody but members/);
  const refused = await run('people', 'invite', 'Survival', 'friend@example.net', 'file.read');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /file\.read is a right that you lack/);
  const mistyped = await run(
    'people',
    'invite',
    'Survival',
    'friend@example.net',
    'control.start',
    'files',
  );
  assert.equal(mistyped.code, 2);
  assert.match(mistyped.err, /files is no right/);
  const made = await run('people', 'invite', 'Survival', 'friend@example.net', 'control.restart');
  assert.deepEqual([made.code, made.err], [0, '']);
  assert.match(
    made.out,
    /^https:\/\/portcullis\.example\/link#\S+\nGive it to friend@example\.net\./,
  );
  const rights = await run('people', 'rights', 'Survival');
  assert.match(rights.out, /control\.restart +Restart the server\./);
  assert.match(rights.out, /file\.read +List folders.*cannot give it/);
  const listed = await run('people', 'list', 'Survival');
  assert.match(listed.out, /friend@example\.net +invited +websocket\.connect control\.restart/);
  const activity = await run('activity', 'Survival');
  assert.match(activity.out, /people\.invite friend@example\.net/);
  const removed = await run('people', 'remove', 'Survival', 'Friend@example.net');
  assert.match(removed.out, /invitation of Friend@example\.net was withdrawn/);
  const again = await run('people', 'remove', 'Survival', 'friend@example.net');
  assert.deepEqual([again.code, again.out], [1, '']);
});
