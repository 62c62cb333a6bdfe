import assert from 'node:assert/strict';
import { it } from 'node:test';
import { goldenCases } from '@portcullis/dataplane/nftables/golden/cases.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { Network } from '../stack/netns.ts';
import { require } from '../requirements.ts';

it('the kernel accepts every reviewed text, a change only upon the table that it changes', async (t) => {
  if (!require(t, ['root', 'netns', 'nft'])) return;
  const network = new Network('golden');
  t.after(() => network.destroy());
  const driver = createNftDriver({ command: network.create('edge').command('nft') });
  for (const { text, initial } of goldenCases()) {
    if (initial !== null) await driver.apply(initial);
    await driver.apply(text);
    // A second time, objects that it deletes are absent.
    if (initial !== null) await assert.rejects(driver.apply(text), { code: 'refused' });
  }
});
