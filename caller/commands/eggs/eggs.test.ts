import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CommandSession } from '@portcullis/cli/testing/run.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

const EGG = {
  meta: { version: 'PTDL_v2' },
  name: 'House game',
  description: 'Made at home',
  docker_images: { main: '~house/game' },
  startup: 'run',
  config: { startup: '{}', stop: 'stop', files: '{}' },
  variables: [],
};

test('an operator adds, updates and removes an egg, and owners find what is offered', async (t) => {
  const world = await startEnvironment(t);
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-eggs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const operator = await world.client({
    organisationId: null,
    abilities: ['operator.read', 'operator.manage'],
  });
  const owner = await world.client({ abilities: ['game-servers.create'] });
  const as =
    ({ authorization }: { readonly authorization: string | null }) =>
    (...args: readonly string[]) =>
      session.run(args, {
        PATH: process.env['PATH'],
        HOME: folder,
        PORTCULLIS_API_KEY: (authorization ?? '').replace('Bearer ', ''),
        PORTCULLIS_URL: world.url,
      });
  const [keeps, finds] = [as(operator), as(owner)];
  const file = join(folder, 'egg.json');
  const write = (egg: object): void => writeFileSync(file, JSON.stringify(egg));
  write(EGG);
  const added = await keeps('eggs', 'add', 'house', '--file', file);
  assert.deepEqual([added.code, added.err], [0, '']);
  assert.match((await finds('eggs', 'list', 'home')).out, /house +House game +Made at home/);
  const twice = await keeps('eggs', 'add', 'house', '--file', file);
  assert.equal(twice.code, 1);
  await addNode(world.db, 'node-1');
  await addServer(world.db, { number: 1, name: 'Survival', owner: 'portal' });
  await world.db.updateTable('game_servers').set({ egg_name: 'house' }).execute();
  write({ ...EGG, startup: 'run --fast' });
  const asked = await keeps('eggs', 'update', 'house', '--file', file);
  assert.equal(asked.code, 2);
  assert.match(asked.out, /startup\n- run\n\+ run --fast/);
  assert.match(asked.out, /Survival \(\S+\): keeps the older one, unless --give all/);
  const taken = await keeps('eggs', 'update', 'house', '--file', file, '--give', 'all', '--yes');
  assert.match(taken.out, /Survival \(\S+\): gets it.*\nThe library has the newer house\./);
  const same = await keeps('eggs', 'update', 'house', '--file', file);
  assert.match(same.out, /Nothing that has an effect changes\./);
  assert.match(
    (await finds('eggs', 'show', 'house')).out,
    /^House game\nMade at home\nImages: main/,
  );
  assert.match((await finds('eggs', 'show', 'hearth')).out, /^Hearth\n/);
  const unknown = await finds('servers', 'create', 'One', '--egg', 'heart');
  assert.deepEqual([unknown.code, unknown.out], [1, '']);
  assert.match(unknown.err, /no egg heart is offered: "portcullis eggs list"/);
  assert.equal((await keeps('eggs', 'remove', 'house')).code, 0);
  assert.match((await finds('eggs', 'list', 'home')).out, /No game is offered that matches/);
  assert.match((await finds('servers', 'quota')).out, /servers +0 +0/);
  const none = await finds('servers', 'create', 'One', '--egg', 'hearth');
  assert.equal(none.code, 1);
  assert.match(none.err, /no quota for servers of its own/);
});
