import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { driverSuite } from '@portcullis/edge/nftables/driver-suite.ts';
import type { Driver } from '@portcullis/edge/nftables/driver.ts';
import { createLibraryDriver } from '@portcullis/edge/nftables/library.ts';
import { createNftDriver } from '@portcullis/edge/nftables/nft.ts';
import { type Namespace, Network } from '../netns.ts';
import { missing } from '../requirements.ts';

const lacking = missing(['root', 'netns', 'nft']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const WAYS: Readonly<Record<string, (namespace: Namespace) => Driver>> = {
  'the nft command': (namespace) => createNftDriver({ command: namespace.command('nft') }),
  libnftables: (namespace) => namespace.within(() => createLibraryDriver()),
};

for (const [way, create] of Object.entries(WAYS)) {
  describe(`the kernel through ${way}`, { skip: lacking ?? false }, () => {
    const network = new Network('driver');
    let namespace: Namespace;
    before(() => {
      namespace = network.create('edge');
    });
    after(() => network.destroy());

    driverSuite(() => {
      namespace.run('nft', 'flush', 'ruleset');
      return create(namespace);
    });

    it('leaves tables of others alone when it takes its hands off', async () => {
      namespace.run('nft', 'add table inet somebody');
      await create(namespace).remove();
      assert.match(namespace.run('nft', 'list', 'tables'), /table inet somebody/);
    });
  });
}

describe('the nft command', { skip: lacking ?? false }, () => {
  it('says what is missing without the rights, without nft, and when nft hangs', async () => {
    const unprivileged = createNftDriver({
      command: ['setpriv', '--reuid=65534', '--clear-groups', '--inh-caps=-all', 'nft'],
    });
    assert.match((await unprivileged.probe()) ?? '', /root or CAP_NET_ADMIN/);
    const absent = createNftDriver({ command: ['nft-that-is-not-there'] });
    assert.match((await absent.probe()) ?? '', /not installed/);
    const hanging = createNftDriver({
      command: ['sh', '-c', 'exec sleep 60', 'sh'],
      timeoutMs: 50,
    });
    await assert.rejects(hanging.apply('add table inet portcullis\n'), {
      code: 'unavailable',
      message: /ended by SIGKILL/,
    });
  });
});
