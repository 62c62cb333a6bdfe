import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { createFakeKernel } from '@portcullis/dataplane/nftables/fake.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { Reconciler } from '../reconcile/reconcile.ts';
import { mergeChanges } from '../reconcile/desired.ts';
import { stateOf } from '../testing/states.ts';
import { KernelRecords } from './kernel-record.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

test('a generation that changes nothing keeps the layout, and is not recorded again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-record-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'kernel.json');
  const reconciler = new Reconciler(createFakeKernel(), DEFAULT_LIMITS);
  const records = new KernelRecords(path, log);
  /** Whether the table after an apply is recorded. */
  const apply = async (desired: Desired): Promise<boolean> => {
    await reconciler.apply(desired);
    const table = await reconciler.table();
    assert.ok(table);
    records.keep(table);
    rmSync(path, { force: true });
    await records.flush();
    return existsSync(path);
  };
  const first = stateOf(1);
  const later = (held: Desired, policies: Desired['policies'], generation: number): Desired =>
    mergeChanges(held, {
      after: held.generation,
      generation,
      policies: [...policies.values()],
      removed: [],
      sourceSetsVersion: held.sourceSets.version,
      settings: held.settings,
    });
  assert.equal(await apply(first), true);
  const before = await reconciler.table();
  const second = later(first, new Map(), 2);
  assert.equal(await apply(second), false);
  // The same policies again, as after a sync.
  const third = later(second, stateOf(1).policies, 3);
  assert.equal(await apply(third), false);
  assert.equal((await reconciler.table())?.layout, before?.layout);
  const fourth = later(third, stateOf(2).policies, 4);
  assert.equal(await apply(fourth), true);
  assert.notEqual((await reconciler.table())?.layout, before?.layout);
  assert.equal((await reconciler.apply(later(fourth, new Map(), 5))).generation, 5);
  reconciler.invalidate();
  assert.equal(await apply(fourth), true, 'a table that was written anew is another one');
});
