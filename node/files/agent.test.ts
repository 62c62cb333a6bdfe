import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EGG } from '../testing/eggs.ts';
import { TestHost } from '../testing/host.ts';
import { writing } from './testing/files.ts';

test('the agent reaches the files of its servers, also while they run, and of no other', async (t) => {
  const host = new TestHost(t);
  const uuid = await host.server({ ...EGG, fileDenylist: ['locked.yml'] });
  await host.power(uuid, 'start');
  await host.becomes(uuid, 'running');
  const written = await host.control.files(uuid, writing('conf/a', 'x'));
  assert.equal(written.kind, 'written');
  const folder = join(host.stateDir, 'servers', uuid);
  assert.equal(readFileSync(join(folder, 'conf/a'), 'utf8'), 'x');
  const locked = await host.control.files(uuid, writing('locked.yml', 'x'));
  assert.deepEqual(locked.kind === 'refused' && locked.code, 'denied');
  const unknown = '00000000-0000-4000-8000-000000000000';
  const none = await host.control.files(unknown, writing('a', 'x'));
  assert.deepEqual(none.kind === 'refused' && none.code, 'unavailable');
  assert.equal(existsSync(join(host.stateDir, 'servers', unknown)), false);
  const large = Buffer.alloc(4 * 1024 * 1024);
  assert.equal((await host.control.files(uuid, writing('large', large))).kind, 'written');
});

test('the files of a server that is suspended cannot be reached', async (t) => {
  const host = new TestHost(t);
  const uuid = await host.server(EGG, { suspended: true });
  const answer = await host.control.files(uuid, writing('a', 'x'));
  assert.deepEqual(answer, {
    kind: 'refused',
    code: 'unavailable',
    reason: 'The server is suspended.',
  });
});
