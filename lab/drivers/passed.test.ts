import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PASSED_TABLE_NAME } from '@portcullis/dataplane/nftables/names.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { openSampleReader } from '@portcullis/dataplane/passed/reader.ts';
import { PassedSampler } from '@portcullis/dataplane/passed/sampler.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { skipUnless } from '../requirements.ts';
import { CountedWire } from './counted-wire.ts';

const skip = skipUnless(['root', 'netns', 'nft', 'python3']);
const HELD = ['203.0.113.0/24', '2001:db8::/64'];

const udp = (source: string, destination: string, port: number): Buffer =>
  frameOf(udpPacket(source, destination, port));

describe('the samples of what passes', { skip }, () => {
  let wire: CountedWire;
  before(() => {
    wire = new CountedWire('passed', 'native');
  });
  after(() => wire.destroy());

  const fresh = async (sees: 'both' | 'inbound' = 'both'): Promise<PassedSampler> => {
    const nft = createNftDriver({ command: wire.edge.command('nft') });
    const sampler = new PassedSampler({
      apply: (text) => nft.apply(text),
      open: () => wire.edge.within(() => openSampleReader()),
    });
    sampler.watch(HELD);
    sampler.enter([wire.device], sees);
    assert.deepEqual((await sampler.read()).passed, []);
    return sampler;
  };
  const taken = async (sampler: PassedSampler): Promise<string[]> => {
    const { passed = [] } = await sampler.read();
    return passed
      .map(({ source, destination, protocol, destinationPort, packets }) =>
        [source, destination, protocol, destinationPort, packets].join(' '),
      )
      .toSorted();
  };

  it('are of packets to held addresses, by source and port, and are read once', async () => {
    const sampler = await fresh();
    await wire.send([
      udp('198.51.100.7', '203.0.113.1', 53),
      udp('198.51.100.8', '203.0.113.1', 53),
      udp('198.51.100.8', '203.0.113.1', 123),
      udp('198.51.100.8', '192.0.2.9', 53),
      udp('2001:db8:1::1', '2001:db8::5', 53),
    ]);
    assert.deepEqual(await taken(sampler), [
      '198.51.100.7 203.0.113.1 17 53 1',
      '198.51.100.8 203.0.113.1 17 123 1',
      '198.51.100.8 203.0.113.1 17 53 1',
      '2001:db8:1::1 2001:db8::5 17 53 1',
    ]);
    assert.deepEqual(await taken(sampler), []);
    await sampler.close();
  });

  it('leave out what a rule dropped before', async () => {
    const sampler = await fresh();
    wire.edge.run('nft', 'add table inet rules');
    wire.edge.run(
      'nft',
      'add chain inet rules first { type filter hook prerouting priority -150; policy drop; }',
    );
    await wire.send([udp('198.51.100.9', '203.0.113.1', 53)]);
    wire.edge.run('nft', 'delete table inet rules');
    assert.deepEqual(await taken(sampler), []);
    await sampler.close();
  });

  it('are one of many without connection tracking', async () => {
    const sampler = await fresh('inbound');
    const frames = Array.from({ length: 1_280 }, () => udp('198.51.100.7', '203.0.113.1', 53));
    await wire.send(frames);
    const { passed = [] } = await sampler.read();
    const packets = passed.reduce((sum, one) => sum + one.packets, 0);
    // 20 are expected; the chance of none, or of 100, is below one in a hundred million.
    assert.ok(packets > 0 && packets < 100, String(packets));
    const text = wire.edge.run('nft', 'list', 'table', 'inet', PASSED_TABLE_NAME);
    assert.doesNotMatch(text, /\bct\b/);
    await sampler.close();
  });

  it('return after another program deleted their table, and end with the sampler', async () => {
    const sampler = await fresh();
    wire.edge.run('nft', 'delete', 'table', 'inet', PASSED_TABLE_NAME);
    assert.deepEqual(await taken(sampler), []);
    await wire.send([udp('198.51.100.7', '203.0.113.1', 53)]);
    assert.equal((await taken(sampler)).length, 1);
    await sampler.close();
    const left = wire.edge.run('nft', 'list', 'tables');
    assert.doesNotMatch(left, new RegExp(PASSED_TABLE_NAME));
  });
});
