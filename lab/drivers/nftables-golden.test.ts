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
  const cases = new Map(goldenCases().map((one) => [one.name, one]));
  const apply = async (name: string): Promise<void> => {
    const { text, initial } = cases.get(name) ?? assert.fail(name);
    if (initial !== null) await apply(initial);
    await driver.apply(text);
    // A second time, objects that it deletes are absent.
    if (initial !== null) await assert.rejects(driver.apply(text), { code: 'refused' });
  };
  for (const name of cases.keys()) await apply(name);
});
