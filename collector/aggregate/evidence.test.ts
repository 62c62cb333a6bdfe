import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWireSample } from '@portcullis/link/messages/attacks.ts';
import { Aggregate } from './aggregate.ts';
import { recordTo } from '../testing/records.ts';

const TARGET = '203.0.113.10';
const NET = '203.0.113.0/24';

function created(): Aggregate {
  const detail = { packets: 0, bytes: 0 };
  return new Aggregate({ prefixes: null, addresses: 1024, seed: 1, detail, nowMs: 0 });
}

describe('evidence of top sources', () => {
  it('covers requested subjects from the request on, in sampled and estimated packets', () => {
    const aggregate = created();
    const one = recordTo(TARGET, { packets: 4000, samplingRate: 100, from: '192.0.2.1' });
    aggregate.add(one, 0);
    aggregate.close(0, 250);
    assert.equal(aggregate.tops(TARGET), null);
    assert.equal(aggregate.tops(NET), null);
    aggregate.add(one, 250);
    aggregate.add(
      recordTo(TARGET, { packets: 100, samplingRate: 100, from: '192.0.2.2', sourcePort: 53 }),
      250,
    );
    aggregate.close(0, 250);
    const reported = aggregate.tops(TARGET);
    assert.deepEqual(reported, {
      subject: TARGET,
      sampled: { samples: 41, packets: 4100 },
      sources: [
        { source: '192.0.2.1', protocol: 'udp', packets: 4000 },
        { source: '192.0.2.2', protocol: 'udp', packets: 100 },
      ],
      sourcePorts: [
        { port: 40_000, protocol: 'udp', packets: 4000 },
        { port: 53, protocol: 'udp', packets: 100 },
      ],
      destinationPorts: [{ port: 27_015, protocol: 'udp', packets: 4100 }],
    });
    assert.equal(aggregate.tops(NET)?.sampled?.packets, 4100);
    assert.equal(aggregate.tops('203.0.113.11'), null);
    const sample = { atMs: 1, durationMs: 250, addresses: [], prefixes: [], tops: [reported] };
    assert.ok(isWireSample(sample));
  });

  it('names heavy sources among countless forged ones, in both families', () => {
    const aggregate = created();
    const target = '2001:db8::10';
    const send = (bucket: number): void => {
      const nowMs = bucket * 250;
      for (let index = 0; index < 3000; index++) {
        const forged = `2001:db8:1:${bucket.toString(16)}::${index.toString(16)}`;
        aggregate.add(recordTo(target, { from: forged, sourcePort: index + 1 }), nowMs);
        if (index % 10 === 0) aggregate.add(recordTo(target, { from: '2001:db8:f::7' }), nowMs);
      }
      aggregate.close(nowMs, 250);
    };
    for (let bucket = 0; bucket < 10; bucket++) {
      send(bucket);
      aggregate.tops(target);
    }
    const reported = aggregate.tops(target);
    assert.equal(reported?.sources[0]?.source, '2001:db8:f::7');
    assert.equal(reported?.sampled?.packets, 9 * 3300);
    assert.ok((reported?.sources[0]?.packets ?? 0) >= 0.9 * 9 * 300);
    assert.equal(reported?.sources.length, 10);
  });

  it('is dropped when no longer requested, and bounded in subjects', () => {
    const aggregate = created();
    const hosts = Array.from({ length: 100 }, (_, host) => `203.0.113.${host}`);
    const send = (bucket: number): number => {
      for (const host of hosts) aggregate.add(recordTo(host), bucket * 250);
      aggregate.close(bucket * 250, 250);
      return hosts.filter((host) => aggregate.tops(host) !== null).length;
    };
    send(0);
    assert.equal(send(1), 64);
    for (let bucket = 2; bucket < 50; bucket++) {
      aggregate.add(recordTo(TARGET), bucket * 250);
      aggregate.close(bucket * 250, 250);
    }
    assert.equal(aggregate.tops(TARGET), null);
  });
});
