import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { Network } from '../netns.ts';
import { require } from '../requirements.ts';

const GOLDEN = join(import.meta.dirname, '../../dataplane/nftables/golden');
/** Only valid upon what it changes. */
const DELTAS = new Map([
  ['change.nft', ['change-before.nft']],
  ['filters-first.nft', ['host.nft']],
  ['filters-last.nft', ['host.nft', 'filters-first.nft']],
]);

it('the kernel takes every text that a person reviewed, a change upon what it changes', async (t) => {
  if (!require(t, ['root', 'netns', 'nft'])) return;
  const network = new Network('golden');
  t.after(() => network.destroy());
  const driver = createNftDriver({ command: network.create('edge').command('nft') });
  const apply = (file: string): Promise<void> =>
    driver.apply(readFileSync(join(GOLDEN, file), 'utf8'));
  for (const file of readdirSync(GOLDEN)) {
    const before = DELTAS.get(file);
    for (const one of before ?? []) await apply(one);
    await apply(file);
    // Twice, it would take away what is not there any more.
    if (before !== undefined) await assert.rejects(apply(file), { code: 'refused' });
  }
});
