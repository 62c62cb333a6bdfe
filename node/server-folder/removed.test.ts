import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { uuidOf } from '../testing/eggs.ts';
import { TestHost, until } from '../testing/host.ts';
import { listRemovedFolders, purgeFolder } from './removed.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

it('lists and purges the folders of removed servers, and never that of an assigned one', async (t) => {
  const host = new TestHost(t);
  const { stateDir } = host;
  mkdirSync(join(stateDir, 'servers'), { recursive: true });
  await assert.rejects(listRemovedFolders(stateDir, log), /start the node once/);
  const [first = '', second = ''] = await host.servers(2);
  for (const uuid of [first, second]) {
    const folder = join(stateDir, 'servers', uuid);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'world'), Buffer.alloc(100_000));
  }
  assert.deepEqual(await listRemovedFolders(stateDir, log), []);
  assert.equal(await purgeFolder(stateDir, log, first), false);

  await host.servers(1);
  await until(async () => (await listRemovedFolders(stateDir, log)).length === 1);
  const [removed] = await listRemovedFolders(stateDir, log);
  assert.equal(removed?.uuid, uuidOf(2));
  assert.ok((removed?.bytes ?? 0) >= 100_000);
  assert.equal(await purgeFolder(stateDir, log, second), true);
  assert.equal(existsSync(removed?.path ?? ''), false);
  assert.ok(existsSync(join(stateDir, 'servers', first, 'world')));
});
