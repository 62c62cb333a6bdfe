import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { createFakeKernel } from '@portcullis/dataplane/nftables/fake.ts';
import { Reconciler } from '../reconcile/reconcile.ts';
import { stateOf } from '../testing/states.ts';
import { TableText } from './table-text.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

function prepare(t: TestContext) {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-text-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const kernel = createFakeKernel();
  const reconciler = new Reconciler(kernel, DEFAULT_LIMITS);
  const apply = async (desired: Desired) => {
    await reconciler.apply(desired);
    const table = await reconciler.table();
    assert.ok(table);
    return table;
  };
  const read = (name: string): string | null => {
    const path = join(stateDir, name);
    // The fake kernel does not support comments.
    return existsSync(path) ? readFileSync(path, 'utf8').replaceAll(/^#.*$/gm, '') : null;
  };
  /** A kernel as it is after a boot with these files. */
  const boot = async () => {
    const booted = createFakeKernel();
    await booted.apply(read('table.nft') ?? '');
    const since = read('table-since.nft');
    if (since !== null) await booted.apply(since);
    return booted.elements();
  };
  return { stateDir, kernel, apply, read, boot };
}

describe('the table as text for the next boot', () => {
  it('equals the kernel table: first the whole text, then with later changes in a second file', async (t) => {
    const { stateDir, kernel, apply, read, boot } = prepare(t);
    const text = new TableText(stateDir, log);
    text.keep(await apply(stateOf(1)));
    await text.flush();
    assert.deepEqual(await boot(), kernel.elements());
    assert.equal(read('table-since.nft'), null);
    const whole = read('table.nft');
    for (const generation of [2, 3, 4]) {
      text.keep(await apply({ ...stateOf(generation), settings: stateOf(1).settings }));
      await text.flush();
      assert.deepEqual(await boot(), kernel.elements());
      assert.ok(read('table-since.nft'));
    }
    assert.equal(read('table.nft'), whole);
    // Other stages need another table.
    const { settings } = stateOf(1);
    text.keep(await apply({ ...stateOf(5), settings: { ...settings, fragments: 'limit' } }));
    await text.flush();
    assert.deepEqual(await boot(), kernel.elements());
    assert.notEqual(read('table.nft'), whole);
    assert.equal(read('table-since.nft'), null);
    text.remove();
    await text.stop();
    assert.equal(read('table.nft') ?? read('table-since.nft'), null);
  });
});
