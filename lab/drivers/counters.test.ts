import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { NftCounters } from '@portcullis/dataplane/counters/nftables/driver.ts';
import { type CounterFixture, counterSuite } from '@portcullis/dataplane/counters/driver-suite.ts';
import { COUNTER_TABLE_NAME } from '@portcullis/dataplane/nftables/names.ts';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { skipUnless } from '../requirements.ts';
import { CountedWire } from './counted-wire.ts';

const skip = skipUnless(['root', 'netns', 'bpf', 'nft', 'python3']);
const ANY_DEVICE = 1;

function loaded(): EarlyDropDriver {
  const driver = createKernelDriver({ pins: '' });
  driver.load([], EARLY_SETTINGS, NO_UNIONS);
  driver.enforce();
  return driver;
}

describe('the counters of the XDP programs', { skip }, () => {
  counterSuite(async () => {
    const driver = loaded();
    const send = async (frames: readonly Buffer[]): Promise<void> => {
      for (const frame of frames) driver.evaluate(frame, ANY_DEVICE);
    };
    return { counters: driver.counters(), send };
  });
});

describe('the counters of the XDP programs on a device', { skip }, () => {
  let wire: CountedWire;
  let driver: EarlyDropDriver | null = null;
  before(() => {
    wire = new CountedWire('native', 'native');
  });
  after(() => {
    driver?.close();
    wire.destroy();
  });
  counterSuite(async (): Promise<CounterFixture> => {
    const attached = wire.edge.within(() => {
      driver?.detach(wire.ifindex);
      driver?.close();
      driver = loaded();
      assert.equal(driver.attach(wire.ifindex).mode, 'native');
      return driver;
    });
    return { counters: attached.counters(), send: (frames) => wire.send(frames) };
  });
});

describe('the counters of nftables', { skip }, () => {
  let wire: CountedWire;
  before(() => {
    wire = new CountedWire('nftables', 'native');
  });
  after(() => wire.destroy());
  const fresh = async () => {
    const nft = createNftDriver({ command: wire.edge.command('nft') });
    const open = () => wire.edge.within(() => openCounterReader(COUNTER_TABLE_NAME));
    const counters = new NftCounters({ apply: (text) => nft.apply(text), open });
    await counters.discard();
    counters.enter([wire.device]);
    return { counters, send: (frames: readonly Buffer[]) => wire.send(frames) };
  };
  counterSuite(fresh);

  it('are restored after another process deleted their table', async () => {
    const { counters, send } = await fresh();
    const net = parseCidr('203.0.113.0/24');
    assert.ok(net.ok);
    await counters.watch([net.value], () => ({ packets: 1, bytes: 1 }));
    await counters.change({
      stopVectors: [],
      unfollow: [],
      follow: ['203.0.113.1'],
      startVectors: ['203.0.113.1'],
    });
    wire.edge.run('nft', 'delete', 'table', 'inet', COUNTER_TABLE_NAME);
    await counters.read();
    const frame = frameOf(udpPacket('198.51.100.7', '203.0.113.1', 9));
    await send(Array.from({ length: 5 }, () => frame));
    const { addresses } = await counters.read();
    assert.deepEqual(
      addresses.map(({ subject, packets, vectors }) => [subject, packets, vectors.length]),
      [['203.0.113.1', 5, 1]],
    );
  });
});
