import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { INSTALLED_EGG, uuidOf } from '../testing/eggs.ts';
import { TestHost, until } from '../testing/host.ts';

function folderOf({ stateDir }: TestHost, uuid: string): string {
  return join(stateDir, 'servers', uuid);
}

function fill(host: TestHost, uuid: string): void {
  const folder = folderOf(host, uuid);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'world'), 'world');
}

it('keeps the files of a deleted server until control lists it, then purges them and says so', async (t) => {
  const host = new TestHost(t);
  const [first = '', second = ''] = await host.servers(2);
  for (const uuid of [first, second]) fill(host, uuid);
  await host.servers(1);
  await until(async () => host.agent !== null && host.control.report?.builds.length === 1);
  assert.ok(existsSync(folderOf(host, second)));
  host.control.purge([second]);
  await until(async () => host.control.report?.purged.includes(second) === true);
  assert.equal(existsSync(folderOf(host, second)), false);
  assert.ok(existsSync(join(folderOf(host, first), 'world')));
});

it('purges nothing that is assigned, whatever control lists', async (t) => {
  const host = new TestHost(t);
  const [uuid = ''] = await host.servers(1);
  fill(host, uuid);
  host.control.purge([uuid, uuidOf(7)]);
  await until(async () => host.control.report?.purged.includes(uuidOf(7)) === true);
  assert.deepEqual(host.control.report?.purged, [uuidOf(7)]);
  assert.ok(existsSync(join(folderOf(host, uuid), 'world')));
});

it('goes on after a kill in the middle of a purge, also while control is away', async (t) => {
  const host = new TestHost(t);
  const [, second = ''] = await host.servers(2);
  await host.servers(1);
  host.control.purge([second]);
  await until(async () => host.control.report?.purged.includes(second) === true);
  // As a kill leaves it: renamed and half deleted, and the folder of an agent that was killed before that.
  await host.agent?.stop();
  fill(host, `${second}.purged`);
  fill(host, `${second}.quarantined-1`);
  fill(host, second);
  await host.restart();
  await until(
    async () =>
      !readdirSync(join(host.stateDir, 'servers')).some((name) => name.startsWith(second)) &&
      !existsSync(folderOf(host, `${second}.purged`)),
  );
});

it('takes the files of a restored server as they are, without another install', async (t) => {
  const host = new TestHost(t);
  const [, second = ''] = await host.servers(2, INSTALLED_EGG);
  fill(host, second);
  await host.servers(1, INSTALLED_EGG);
  await until(async () => host.control.report?.builds.length === 1);
  const installs = host.count('runInstall', second);
  assert.ok(installs > 0);
  await host.servers(2, INSTALLED_EGG, { isRestored: true });
  assert.equal(host.count('runInstall', second), installs);
  assert.ok(existsSync(join(folderOf(host, second), 'world')));
});
