import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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

it('lists and purges what an install left that could not be given to its server, however it is nested', async (t) => {
  const host = new TestHost(t);
  const { stateDir } = host;
  const [uuid = ''] = await host.servers(1);
  const name = `${uuid}.quarantined-1`;
  const folder = join(stateDir, 'servers', name);
  mkdirSync(folder, { recursive: true });
  const nest = 'cd "$0"; for n in $(seq 100); do mkdir $1; cd -P $1; done';
  execFileSync('sh', ['-c', nest, folder, 'd'.repeat(92)]);
  const names = async () => (await listRemovedFolders(stateDir, log)).map((one) => one.uuid);
  assert.deepEqual(await names(), [name]);
  assert.equal(await purgeFolder(stateDir, log, name), true);
  assert.deepEqual([await names(), existsSync(folder)], [[], false]);
  assert.equal(await purgeFolder(stateDir, log, `${uuid}.purged`), false);
});
