import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import { VECTOR_INDEX, type Vector } from '@portcullis/core/attacks/vectors.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { type FrameOptions, frameOf, udpPacket } from '../testing/frames.ts';
import type { Counted, CounterChange, CounterDriver } from './driver.ts';

/** A driver without subjects, and a way to send packets to it. */
export interface CounterFixture {
  readonly counters: CounterDriver;
  /** Packets received on a device of the edge, in this order. */
  send(frames: readonly Buffer[]): Promise<void>;
}

const ETHERNET_BYTES = 14;
const FAMILIES = [
  {
    family: 4,
    ours: ['203.0.113.1', '203.0.113.2'],
    net: '203.0.113.0/24',
    theirs: '198.51.100.7',
  },
  {
    family: 6,
    ours: ['2001:db8:5::1', '2001:db8:5::2'],
    net: '2001:db8:5::/64',
    theirs: '2001:db8:9::7',
  },
] as const;

/** The guarantees of every driver for packets to counted subjects that no rule drops. */
export function counterSuite(fresh: () => Promise<CounterFixture>): void {
  let fixture: CounterFixture;
  beforeEach(async () => {
    fixture = await fresh();
  });
  const watch = (...networks: string[]) =>
    fixture.counters.watch(networks.map(cidr), () => ({ packets: 1, bytes: 1 }));
  const change = (some: Partial<CounterChange>) =>
    fixture.counters.change({
      stopVectors: [],
      unfollow: [],
      follow: [],
      startVectors: [],
      ...some,
    });

  for (const { family, ours, net, theirs } of FAMILIES) {
    const [one, two] = ours;
    const packets = packetsTo(one, theirs);

    it(`counts packets and bytes of a followed IPv${family} address and of its network`, async () => {
      await watch(net);
      await change({ follow: [one] });
      const toOne = repeat(frameOf(udpPacket(theirs, one, 9)), 7);
      const toTwo = repeat(frameOf(udpPacket(theirs, two, 9)), 5);
      await fixture.send([...toOne, ...toTwo, ...toOne]);
      const { addresses, networks } = await fixture.counters.read();
      assert.deepEqual(amounts(addresses), { [one]: [14, bytesOf(toOne) * 2] });
      assert.deepEqual(amounts(networks), { [net]: [19, bytesOf(toOne) * 2 + bytesOf(toTwo)] });
      const again = await fixture.counters.read();
      assert.deepEqual([again.addresses, again.networks], [[], []]);
    });

    it(`reports every IPv${family} vector by name for an address and its network`, async () => {
      await watch(net);
      await change({ follow: [one], startVectors: [one, net] });
      for (const [vector, frame] of packets) {
        await fixture.send(repeat(frame, 3));
        const { addresses, networks } = await fixture.counters.read();
        const expected = { vector: VECTOR_INDEX[vector], packets: 3, bytes: bytesOf([frame]) * 3 };
        assert.deepEqual(named(addresses, one)?.vectors, [expected], vector);
        assert.deepEqual(named(networks, net)?.vectors, [expected], vector);
        assert.equal(named(addresses, one)?.dataPackets, vector === 'tcp_data' ? 3 : 0, vector);
      }
    });

    it(`reports a busy IPv${family} address that is not followed, for any other traffic`, async () => {
      await watch(net);
      const noise = Array.from({ length: 60 }, (_, index) =>
        frameOf(
          udpPacket(
            theirs,
            family === 4 ? `203.0.113.${100 + index}` : `2001:db8:5::${100 + index}`,
            9,
          ),
        ),
      );
      const heavy = repeat(frameOf(udpPacket(theirs, two, 9)), 40);
      await fixture.send([...noise, ...heavy, ...noise]);
      const { suspects, networks } = await fixture.counters.read();
      assert.deepEqual(
        suspects.map(({ address }) => address),
        [two],
      );
      assert.equal(named(networks, net)?.packets, 160);
      await change({ follow: [two] });
      await fixture.send([...noise, ...heavy]);
      const { addresses } = await fixture.counters.read();
      assert.deepEqual(amounts(addresses), { [two]: [40, bytesOf(heavy)] });
    });
  }

  it('counts nothing for subjects that are not or no longer counted', async () => {
    const to = (address: string) => frameOf(udpPacket('198.51.100.7', address, 9));
    await watch('203.0.113.0/24', '203.0.112.9');
    await change({
      follow: ['203.0.113.1', '203.0.112.9', '203.0.112.8'],
      startVectors: ['203.0.113.1'],
    });
    const first = to('203.0.113.1');
    const frames = [first, to('203.0.112.9'), to('203.0.112.8')];
    await fixture.send(frames);
    const seen = await fixture.counters.read();
    assert.deepEqual(Object.keys(amounts(seen.addresses)).toSorted(), [
      '203.0.112.9',
      '203.0.113.1',
    ]);
    assert.deepEqual(amounts(seen.networks), { '203.0.113.0/24': [1, bytesOf([first])] });
    await watch('203.0.112.9');
    await fixture.send(frames);
    const after = await fixture.counters.read();
    assert.deepEqual(
      [Object.keys(amounts(after.addresses)), after.networks],
      [['203.0.112.9'], []],
    );
    await watch();
    await fixture.send(frames);
    const nothing = { addresses: [], networks: [], suspects: [], samples: [] };
    assert.deepEqual(await fixture.counters.read(), nothing);
  });

  it('counts in the longest network, and starts a reused counter at zero', async () => {
    const frame = frameOf(udpPacket('198.51.100.7', '203.0.113.1', 9));
    await watch('203.0.112.0/22', '203.0.113.0/24');
    await fixture.send(repeat(frame, 4));
    assert.deepEqual(amounts((await fixture.counters.read()).networks), {
      '203.0.113.0/24': [4, bytesOf([frame]) * 4],
    });
    await fixture.send(repeat(frame, 4));
    await watch('203.0.112.0/22', '198.18.0.0/16');
    await change({ follow: ['203.0.113.1'], startVectors: ['203.0.113.1'] });
    await fixture.send(repeat(frame, 3));
    await change({
      unfollow: ['203.0.113.1'],
      follow: ['203.0.112.1'],
      startVectors: ['203.0.112.1'],
    });
    const { addresses, networks } = await fixture.counters.read();
    assert.deepEqual(
      [named(addresses, '203.0.112.1'), named(networks, '198.18.0.0/16')],
      [undefined, undefined],
    );
  });

  it('follows and reports no more than its capacity', async () => {
    const { followed } = fixture.counters.capacity;
    await watch('10.0.0.0/8');
    const all = Array.from({ length: followed + 2 }, (_, index) => ipv4(0x0a00_0001 + index));
    await change({ follow: all });
    await fixture.send(
      [all[0] ?? '', all[followed - 1] ?? '', all[followed] ?? ''].map((to) =>
        frameOf(udpPacket('198.51.100.7', to, 9)),
      ),
    );
    const { addresses, networks } = await fixture.counters.read();
    assert.deepEqual(
      Object.keys(amounts(addresses)).toSorted(),
      [all[0], all[followed - 1]].toSorted((a = '', b = '') => (a < b ? -1 : 1)),
    );
    assert.equal(named(networks, '10.0.0.0/8')?.packets, 3);
  });

  it('omits addresses with too little traffic, except those with vectors', async () => {
    const [one, two] = ['203.0.113.1', '203.0.113.2'];
    const frame = frameOf(udpPacket('198.51.100.7', one, 9));
    const other = frameOf(udpPacket('198.51.100.7', two, 9));
    const least = { packets: 5, bytes: 8 * bytesOf([frame]) };
    await fixture.counters.watch([cidr('203.0.113.0/24')], () => least);
    await change({ follow: [one, two] });
    await fixture.send([...repeat(frame, 4), ...repeat(other, 5)]);
    const few = await fixture.counters.read();
    assert.deepEqual(Object.keys(amounts(few.addresses)), [two]);
    assert.equal(named(few.networks, '203.0.113.0/24')?.packets, 9);
    await change({ startVectors: [one] });
    await fixture.send([frame]);
    assert.equal(named((await fixture.counters.read()).addresses, one)?.vectors.length, 1);
  });
}

/** A frame of each vector, with DNS as the only reflector. */
export function packetsTo(to: string, from: string): readonly (readonly [Vector, Buffer])[] {
  const family = to.includes(':') ? 6 : 4;
  const bare = (protocol: number): Packet => ({
    ...udpPacket(from, to, 0),
    protocol,
    sourcePort: null,
    destinationPort: null,
  });
  const tcp = (flags: number, bytes = 0): Buffer => {
    const packet = { ...udpPacket(from, to, 80), protocol: 6 };
    return frameOf(packet, { flags, payload: Buffer.alloc(bytes) });
  };
  const udp = (sourcePort: number, options: FrameOptions = {}): Buffer =>
    frameOf(udpPacket(from, to, 9, sourcePort), options);
  const echo = { type: family === 4 ? 8 : 128, code: 0 };
  return [
    ['tcp_syn', tcp(0x02)],
    ['tcp_syn_ack', tcp(0x12)],
    ['tcp_ack', tcp(0x10)],
    ['tcp_data', tcp(0x18, 1000)],
    ['tcp_rst', tcp(0x14)],
    ['tcp_other', tcp(0x01)],
    ['udp', udp(40_000)],
    ['udp_dns', udp(53, { payload: Buffer.alloc(1000) })],
    ['udp_memcached', udp(11_211)],
    ['icmp', frameOf({ ...bare(family === 4 ? 1 : 58), icmp: echo })],
    ['gre', frameOf(bare(47))],
    ['fragment', frameOf({ ...udpPacket(from, to, 9), fragment: 'later' })],
    ['fragment_first', frameOf({ ...udpPacket(from, to, 9), fragment: 'first' })],
    ['other', frameOf(bare(132))],
  ];
}

function cidr(text: string) {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
}

function repeat(frame: Buffer, count: number): Buffer[] {
  return Array.from({ length: count }, () => frame);
}

function bytesOf(frames: readonly Buffer[]): number {
  return frames.reduce((sum, frame) => sum + frame.length - ETHERNET_BYTES, 0);
}

function named(all: readonly Counted[], subject: string): Counted | undefined {
  return all.find((one) => one.subject === subject);
}

/** Packets and bytes by subject. */
function amounts(all: readonly Counted[]): Record<string, [number, number]> {
  return Object.fromEntries(
    all
      .filter(({ packets }) => packets > 0)
      .map(({ subject, packets, bytes }) => [subject, [packets, bytes]]),
  );
}

function ipv4(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}
