import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { createNftDriver } from '@portcullis/edge/nftables/nft.ts';
import { Network } from '../netns.ts';
import { require } from '../requirements.ts';

const GOLDEN = join(import.meta.dirname, '../../edge/nftables/golden');
/** Only valid upon what it changes; the differential test applies such. */
const DELTAS = new Set(['change.nft']);

it('the kernel takes every whole table that a person reviewed', async (t) => {
  if (!require(t, ['root', 'netns', 'nft'])) return;
  const network = new Network('golden');
  t.after(() => network.destroy());
  const driver = createNftDriver({ command: network.create('edge').command('nft') });
  for (const file of readdirSync(GOLDEN)) {
    if (DELTAS.has(file)) continue;
    await driver.apply(readFileSync(join(GOLDEN, file), 'utf8'));
  }
});
