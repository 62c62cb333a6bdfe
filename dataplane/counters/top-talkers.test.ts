import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWireSample } from '@portcullis/link/messages/attacks.ts';
import { TopTalkers } from './top-talkers.ts';

const [ONE, NET] = ['203.0.113.1', '203.0.113.0/24'] as const;

function sampleFrom(source: string, sourcePort: number, packets = 64, destinationPort = 27_015) {
  const protocol = sourcePort === 0 ? 1 : 17;
  return { protocol, destination: ONE, source, sourcePort, destinationPort, packets };
}

test('lists the top sources of an address and its network by estimates, largest first', () => {
  const talkers = new TopTalkers();
  for (let index = 0; index < 3; index++) {
    talkers.add(sampleFrom('198.51.100.7', 53), [ONE, NET], 0);
  }
  talkers.add(sampleFrom('198.51.100.8', 123, 1024), [ONE, NET], 0);
  // Without ports, like ICMP.
  talkers.add(sampleFrom('198.51.100.9', 0, 1, 0), [ONE], 0);
  const tops = talkers.of(ONE, 1000);
  assert.deepEqual(tops, {
    subject: ONE,
    sampled: { samples: 5, packets: 1217 },
    sources: [
      { source: '198.51.100.8', protocol: 'udp', packets: 1024 },
      { source: '198.51.100.7', protocol: 'udp', packets: 192 },
      { source: '198.51.100.9', protocol: 'icmp', packets: 1 },
    ],
    sourcePorts: [
      { port: 123, protocol: 'udp', packets: 1024 },
      { port: 53, protocol: 'udp', packets: 192 },
    ],
    destinationPorts: [{ port: 27_015, protocol: 'udp', packets: 1216 }],
  });
  assert.equal(talkers.of(NET, 1000)?.sources.length, 2);
  assert.equal(talkers.of('203.0.113.2', 1000), null);
  const sample = { atMs: 1, durationMs: 250, addresses: [], prefixes: [], tops: [tops] };
  assert.ok(isWireSample(sample));
});

test('distinguishes the same port of different vectors', () => {
  const talkers = new TopTalkers();
  const one = sampleFrom('198.51.100.7', 4000, 64, 443);
  talkers.add(one, [ONE], 0);
  talkers.add({ ...one, protocol: 6, packets: 128 }, [ONE], 0);
  talkers.add({ ...one, protocol: 132, packets: 32 }, [ONE], 0);
  assert.deepEqual(talkers.of(ONE, 0)?.destinationPorts, [
    { port: 443, protocol: 'tcp', packets: 128 },
    { port: 443, protocol: 'udp', packets: 64 },
    { port: 443, packets: 32 },
  ]);
});

test('keeps sources by protocol, with what the subject has answered of the same time', () => {
  const talkers = new TopTalkers();
  const one = sampleFrom('198.51.100.7', 4000, 64, 80);
  const answered = (packets: number) => [{ source: '198.51.100.7', protocol: 6, packets }];
  talkers.addAnswered(ONE, answered(100_000), 0);
  for (const atMs of [250, 500]) {
    for (let index = 0; index < 4; index++) {
      talkers.add({ ...one, protocol: 6 }, [ONE], atMs);
    }
    talkers.add(one, [ONE], atMs);
    talkers.addAnswered(ONE, answered(200), atMs);
  }
  assert.deepEqual(talkers.of(ONE, 500)?.sources, [
    { source: '198.51.100.7', protocol: 'tcp', packets: 512, answered: 400 },
    { source: '198.51.100.7', protocol: 'udp', packets: 128, answered: 0 },
  ]);
  talkers.forget(ONE);
  assert.equal(talkers.of(ONE, 500), null);
  // Nothing is known of answers to what came before they were counted.
  talkers.add(one, [ONE], 600);
  talkers.addAnswered(ONE, answered(200), 700);
  assert.equal(talkers.of(ONE, 700)?.sources[0]?.answered, undefined);
});

test('bounds subjects and entries, drops old ones, and lists at most ten', () => {
  const talkers = new TopTalkers();
  for (let index = 0; index < 2000; index++) {
    const source = `198.18.${index >> 8}.${index & 255}`;
    talkers.add(sampleFrom(source, 1 + index), [ONE, `203.0.${index >> 8}.${index & 255}`], index);
  }
  const tops = talkers.of(ONE, 2000);
  assert.deepEqual([tops?.sources.length, tops?.sourcePorts.length], [10, 10]);
  const sum = tops?.destinationPorts[0]?.packets ?? 0;
  assert.equal(sum, 256 * 64);
  assert.equal(talkers.of('203.0.0.0', 2000), null);
  assert.equal(talkers.of(ONE, 12_500), null);
});
