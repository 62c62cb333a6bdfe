import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { CommandSession } from '@portcullis/cli/testing/run.ts';
import { TEST_EGG } from '@portcullis/control/operator/fleet-file/testing.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

test('settings of a server are shown and changed, and a refusal names the variable', async (t) => {
  const world = await startEnvironment(t);
  await addNode(world.db, 'node-1');
  await addServer(world.db, { number: 1, name: 'Survival', egg: TEST_EGG.egg, owner: 'portal' });
  const key = await world.client({
    abilities: [
      'game-servers.read',
      'game-servers.manage',
      'game-servers.files',
      'game-servers.settings',
    ],
  });
  const env = {
    PATH: process.env['PATH'],
    HOME: tmpdir(),
    PORTCULLIS_API_KEY: (key.authorization ?? '').replace('Bearer ', ''),
    PORTCULLIS_URL: world.url,
  };
  const run = (...args: readonly string[]) => session.run(['servers', 'settings', ...args], env);
  const shown = await run('show', 'Survival');
  assert.deepEqual([shown.code, shown.err], [0, '']);
  assert.match(shown.out, /image +first \(the first of the egg\)/);
  assert.match(shown.out, /SLOTS +8 +8 +Slots/);
  assert.doesNotMatch(shown.out, /PASSWORD/);
  const set = await run('set', 'Survival', 'SLOTS=16', 'MOTD=a = b', '--stop-time', '90s');
  assert.deepEqual([set.code, set.err], [0, '']);
  assert.match(set.out, /^Saved\. A server that runs takes it at its next start: /);
  const wrong = await run('set', 'Survival', 'SLOTS=65');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /SLOTS \(Slots\) must be at most 64/);
  await run('set', 'Survival', '--unset', 'MOTD', '--with-host', 'as-before');
  const crashes = await run('set', 'Survival', '--crash-restart', 'no', '--crash-within', '2m');
  assert.deepEqual([crashes.code, crashes.out], [0, 'Saved.\n']);
  const images = await run('image', 'Survival');
  assert.equal(images.out, 'first (used)\nsecond\n');
  assert.equal((await run('image', 'Survival', 'second')).code, 0);
  const { data } = JSON.parse((await run('show', 'Survival', '--json')).out);
  assert.deepEqual(
    data.variables.map(({ env: name, value }: { env: string; value: string }) => [name, value]),
    [
      ['SLOTS', '16'],
      ['MOTD', ''],
    ],
  );
  assert.equal(data.image.chosen, 'second');
  assert.equal(data.stop_seconds, 90);
  assert.deepEqual(data.crashes, { restart: false, within_seconds: 120, tries: 1 });
  for (const args of [
    ['set', 'Survival'],
    ['set', 'Survival', 'MOTD'],
    ['set', 'Survival', '--crash-tries', '11'],
    ['set', 'Survival', '--with-host', 'sometimes'],
    ['image', 'Survival', 'second', '--default'],
    ['reinstall', 'Survival', '--files', 'burn'],
    ['reinstall', 'Survival', '--files', 'delete'],
  ]) {
    assert.equal((await run(...args)).code, 2, args.join(' '));
  }
  const again = await run('reinstall', 'Survival', '--files', 'bin');
  assert.match(again.out, /is installed again/);
});
