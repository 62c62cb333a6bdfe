import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { VECTORS } from '@portcullis/core/attacks/vectors.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Counted, CounterDriver } from '@portcullis/dataplane/counters/driver.ts';
import { packetsTo } from '@portcullis/dataplane/counters/driver-suite.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { type EarlyTarget } from '@portcullis/dataplane/xdp/compile/early-target.ts';
import { addressBytes } from '@portcullis/dataplane/xdp/maps/layout.ts';
import { NftCounters } from '@portcullis/dataplane/counters/nftables/driver.ts';
import { COUNTER_TABLE_NAME } from '@portcullis/dataplane/nftables/names.ts';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { missing } from '../requirements.ts';
import { CountedWire } from '../drivers/counted-wire.ts';

const lacking = missing(['root', 'netns', 'bpf', 'nft', 'python3']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const NET = '203.0.113.0/24';
const NET_6 = '2001:db8:5::/64';
/** Addresses: with rules of its own, with none, of IPv6, and in a network that drops. */
const [ONE, TWO, SIX] = ['203.0.113.1', '203.0.113.2', '2001:db8:5::1'] as const;
const [DENIED, INSIDE] = ['203.0.112.0/24', '203.0.112.3'] as const;
const [THEIRS, THEIRS_6] = ['198.51.100.7', '2001:db8:9::7'] as const;
const EVERYTHING = () => ({ packets: 1, bytes: 1 });
const ROUNDS = 2_800;

function loaded(targets: readonly EarlyTarget[] = []): EarlyDropDriver {
  const driver = createKernelDriver({ pins: '' });
  driver.load(targets, EARLY_SETTINGS, NO_UNIONS);
  driver.enforce();
  return driver;
}

/** Thousands of packets of every vector to some, and twice as many from anybody to anybody, are all counted. */
async function flood(
  counters: CounterDriver,
  wire: CountedWire,
  { showsSamples }: { readonly showsSamples: boolean },
): Promise<void> {
  await counters.watch([NET, NET_6, DENIED].map(cidr), EVERYTHING);
  const reported = [ONE, SIX, INSIDE];
  await counters.change({
    stopVectors: [],
    unfollow: [],
    follow: reported,
    startVectors: [...reported, NET, NET_6],
  });
  const kinds = [packetsTo(ONE, THEIRS), packetsTo(SIX, THEIRS_6)] as const;
  const frames: Buffer[] = [];
  const sent = new Map<string, number>();
  const add = (name: string, frame: Buffer): void => {
    frames.push(frame);
    sent.set(name, (sent.get(name) ?? 0) + 1);
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, subject] of ([ONE, SIX] as const).entries()) {
      const [vector, frame] = kinds[index]?.[round % kinds[0].length] ?? ['other', EMPTY];
      add(`${subject} ${vector}`, frame);
    }
    add(INSIDE, frameOf(udpPacket(THEIRS, INSIDE, 9)));
    add(TWO, frameOf(udpPacket(THEIRS, TWO, 9)));
    for (let noise = 0; noise < 4; noise++) add('noise', madeUp());
  }
  await wire.send(frames);
  const { addresses, networks, suspects, samples } = await counters.read();
  if (showsSamples) {
    // One in 16 of them, at first.
    const heard = samples.filter(({ destination }) => destination === INSIDE);
    assert.ok(
      heard.length > ROUNDS / 16 / 3 && heard.length < (ROUNDS / 16) * 3,
      `${heard.length}`,
    );
    const asSent = { protocol: 17, source: THEIRS, sourcePort: 40_000, destinationPort: 9 };
    for (const one of heard) assert.deepEqual(one, { destination: INSIDE, packets: 16, ...asSent });
  } else assert.deepEqual(samples, []);
  const of = (all: readonly Counted[], subject: string) =>
    all.find((one) => one.subject === subject);
  for (const subject of [ONE, SIX]) {
    const counted = of(addresses, subject);
    assert.equal(counted?.packets, ROUNDS, subject);
    const bytes = frames.filter((frame) => isTo(frame, subject)).map(({ length }) => length - 14);
    assert.equal(
      counted.bytes,
      bytes.reduce((sum, one) => sum + one, 0),
      subject,
    );
    const byVector = counted.vectors.map(({ vector, packets }) => [VECTORS[vector], packets]);
    const expected = kinds[0].map(([vector]) => [vector, sent.get(`${subject} ${vector}`)]);
    assert.deepEqual(
      new Map(byVector as [string, number][]),
      new Map(expected as [string, number][]),
    );
  }
  assert.equal(of(addresses, INSIDE)?.packets, ROUNDS);
  assert.equal(of(networks, DENIED)?.packets, ROUNDS);
  const all = [NET, NET_6].reduce((sum, name) => sum + (of(networks, name)?.packets ?? 0), 0);
  assert.equal(all, ROUNDS * 7);
  assert.ok(suspects.some(({ address }) => address === TWO));
}

const EMPTY = Buffer.alloc(0);

/** To a destination that nobody follows, inside a watched network, from anybody. */
function madeUp(): Buffer {
  const number = (below: number) => Math.floor(Math.random() * below);
  const [a, b] = [number(2 ** 16), number(2 ** 16)];
  const [port, sourcePort] = [number(2 ** 16), number(2 ** 16)];
  const packet =
    a % 2 === 0
      ? udpPacket(`198.18.${a >> 8}.${b & 255}`, `203.0.113.${10 + (b % 240)}`, port, sourcePort)
      : udpPacket(
          `2001:db8:${a.toString(16)}::${b.toString(16)}`,
          `2001:db8:5::${a.toString(16)}:${b.toString(16)}`,
          port,
          sourcePort,
        );
  return frameOf(packet);
}

function isTo(frame: Buffer, address: string): boolean {
  const [at, bytes] = address.includes(':') ? [38, 16] : [30, 4];
  const to = parseAddress(address);
  assert.ok(to.ok);
  return frame.subarray(at, at + bytes).equals(addressBytes(to.value));
}

for (const kind of ['native', 'tc'] as const) {
  describe(`the counters of the XDP programs on a device (${kind})`, {
    skip: lacking ?? false,
  }, () => {
    let wire: CountedWire;
    let driver: EarlyDropDriver | null = null;
    before(() => {
      wire = new CountedWire(kind, kind);
    });
    after(() => {
      driver?.close();
      wire.destroy();
    });
    const attach = (targets: readonly EarlyTarget[]): EarlyDropDriver =>
      wire.edge.within(() => {
        driver?.detach(wire.ifindex);
        driver?.close();
        driver = loaded(targets);
        assert.equal(driver.attach(wire.ifindex).mode, kind);
        return driver;
      });
    it('count exactly what rules drop and what passes, in a flood of made-up destinations and sources', async () => {
      const policies = [denyAll(ONE, [allowPort('udp', 9)]), denyAll(DENIED)].map(compileEarly);
      const attached = attach(policies);
      await flood(attached.counters(), wire, { showsSamples: true });
      const dropped = new Map<string, number>();
      for (const { target, packets } of attached.counts()) dropped.set(target, packets);
      // UDP to its open port, ICMP as asked for and parts of datagrams are left to nftables.
      const [own = 0, around = 0] = [dropped.get(ONE), dropped.get(DENIED)];
      assert.ok(own > ROUNDS / 3 && own < ROUNDS, `${own}`);
      assert.equal(around, ROUNDS);
    });
  });
}

describe('the counters of nftables', { skip: lacking ?? false }, () => {
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
  it('count exactly in a flood of made-up destinations and sources, and keep out nobody who gets much', async () => {
    const { counters } = await fresh();
    await flood(counters, wire, { showsSamples: false });
  });
});

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  assert.ok(parsed.ok);
  return parsed.value;
}
