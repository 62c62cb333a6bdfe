import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseInstallation } from './choose.ts';

const OWN = '/var/lib/portcullis';
const OTHER = '/home/ada/.local/state/portcullis';
const choose = (installed: readonly string[], isRoot = true) =>
  chooseInstallation({
    own: OWN,
    other: OTHER,
    isInstalled: (dir) => installed.includes(dir),
    isRoot,
  });

test('a second installation is noticed and named, and never taken unasked', () => {
  const both = choose([OWN, OTHER]);
  assert.equal(both.dataDir, OWN);
  assert.match(both.notice ?? '', /another installation in \/home\/ada.*this one is in \/var\/lib/);
  assert.equal(both.adoptable, null);
  assert.equal(choose([OTHER]).dataDir, OWN);
  assert.deepEqual(choose([OWN]), { dataDir: OWN, notice: null, adoptable: null });
});

test('root may adopt the installation of the user who runs sudo while it has none itself', () => {
  assert.deepEqual(choose([OTHER]), { dataDir: OWN, notice: null, adoptable: OTHER });
  assert.equal(choose([OTHER], false).adoptable, null);
});
