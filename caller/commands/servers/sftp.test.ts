import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { CommandSession } from '@portcullis/cli/testing/run.ts';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

test('shows how to connect by SFTP, for a person that is named', async (t) => {
  const world = await startEnvironment(t);
  const credential = await addNode(world.db, 'node-1');
  const node = await new TestNode(world.nodes, 'node-1', credential).join();
  t.after(() => node.link.close());
  await addServer(world.db, { number: 1, name: 'Survival' });
  const key = await world.client({ abilities: ['game-servers.read', 'game-servers.files'] });
  const env = {
    PATH: process.env['PATH'],
    HOME: tmpdir(),
    PORTCULLIS_API_KEY: (key.authorization ?? '').replace('Bearer ', ''),
    PORTCULLIS_URL: world.url,
  };
  const run = (...args: readonly string[]) => session.run(['servers', 'sftp', ...args], env);
  assert.match((await run('Survival')).out, /serves no SFTP.*--sftp-listen/);
  const fingerprint = 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU';
  node.sftp = { port: 2_022, address: null, fingerprint };
  await node.beat();
  const shown = await run('Survival', '--user', 'ada@example.net');
  assert.deepEqual([shown.code, shown.err], [0, '']);
  assert.match(shown.out, /^sftp:\/\/ada%40example\.net\.6f1c2f1e@198\.51\.100\.10:2022\n/);
  assert.match(shown.out, /sftp -P 2022 ada@example\.net\.6f1c2f1e@198\.51\.100\.10\n/);
  assert.ok(shown.out.includes(fingerprint));
  assert.match((await run('Survival', '--quiet')).out, /^sftp:\/\/EMAIL\.6f1c2f1e@198/);
});
