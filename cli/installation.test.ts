import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseInstallation } from './installation.ts';

const OWN = '/var/lib/portcullis';
const OTHER = '/home/ada/.local/state/portcullis';
const choose = (installed: readonly string[], isRoot = true) =>
  chooseInstallation({
    isRoot,
    own: OWN,
    other: OTHER,
    isInstalled: (dir) => installed.includes(dir),
  });

test('sudo after a first start without it uses what that start made, and says so', () => {
  assert.deepEqual(choose([]), { dataDir: OWN, notice: null });
  assert.deepEqual(choose([OWN]), { dataDir: OWN, notice: null });
  const taken = choose([OTHER]);
  assert.equal(taken.dataDir, OTHER);
  assert.match(taken.notice ?? '', /Using the installation in \/home\/ada.*made without sudo/);
});

test('a second installation is noticed and named, and never taken unasked', () => {
  const both = choose([OWN, OTHER]);
  assert.equal(both.dataDir, OWN);
  assert.match(both.notice ?? '', /another installation in \/home\/ada.*this one is in \/var\/lib/);
  assert.equal(choose([OTHER], false).dataDir, OWN);
});
