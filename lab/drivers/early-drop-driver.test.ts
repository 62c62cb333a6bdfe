import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { countSuite } from '@portcullis/dataplane/xdp/driver/count-suite.ts';
import { earlyDropSuite } from '@portcullis/dataplane/xdp/driver/driver-suite.ts';
import type { TcMethod } from '@portcullis/dataplane/xdp/devices/attachment.ts';
import {
  countPrograms,
  type Descriptor,
  lookupElement,
  mapShapeOf,
  updateElement,
} from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { capacitySuite } from '@portcullis/dataplane/xdp/driver/capacity-suite.ts';
import { greetingsSuite } from '@portcullis/dataplane/xdp/driver/greetings-suite.ts';
import { statelessDropsSuite } from '@portcullis/dataplane/xdp/driver/stateless-drops-suite.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { keysOf, withMapsOf } from '../kernel/bpf-maps.ts';
import { mountBpffs, unmountBpffs } from '../kernel/bpffs.ts';
import { type Namespace, Network } from '../stack/netns.ts';
import { missing } from '../requirements.ts';
import { eventually } from '../system/stack-fixture.ts';

/** The number of runs of each property: the kernel takes up to a second to verify the programs of a new driver. */
const RUNS = repeated(5);
const lacking = missing(['root', 'netns', 'bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

describe("the kernel's early drop", { skip: lacking ?? false }, () => {
  earlyDropSuite(() => createKernelDriver({ pins: '' }), RUNS);
  countSuite(() => createKernelDriver({ pins: '' }));
  statelessDropsSuite(() => createKernelDriver({ pins: '' }));
  greetingsSuite(() => createKernelDriver({ pins: '' }));
  capacitySuite((capacity) => createKernelDriver({ pins: '', capacity }), RUNS);
});

describe("the kernel's early drop at tc ingress", { skip: lacking ?? false }, () => {
  earlyDropSuite(() => createKernelDriver({ pins: '', hooks: ['tc'] }), 0);
  countSuite(() => createKernelDriver({ pins: '', hooks: ['tc'] }));
  greetingsSuite(() => createKernelDriver({ pins: '', hooks: ['tc'] }));
});

const OURS = { 4: '203.0.113.1', 6: '2001:db8:5::1' } as const;
const THEIRS = { 4: '203.0.113.2', 6: '2001:db8:5::2' } as const;

describe("the kernel's early drop on a device", { skip: lacking ?? false }, () => {
  const network = new Network('early');
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-early-'));
  const bpffs = join(folder, 'bpffs');
  let ours: Namespace;
  let theirs: Namespace;
  before(() => {
    mountBpffs(bpffs);
    ours = network.create('ours');
    theirs = network.create('theirs');
    network.join(ours, { device: 'wan', addresses: [`${OURS[4]}/24`, `${OURS[6]}/64`] }, theirs, {
      device: 'eth0',
      addresses: [`${THEIRS[4]}/24`, `${THEIRS[6]}/64`],
    });
  });
  after(() => {
    network.destroy();
    unmountBpffs(bpffs);
    rmSync(folder, { recursive: true });
  });

  /** Everything in the namespace: which one counts is that of the thread, at the time of the call. */
  const within = <T>(work: (ifindex: number) => T): T =>
    ours.within(() => {
      const ifindex = readDevice('wan')?.ifindex;
      assert.ok(ifindex !== undefined);
      return work(ifindex);
    });

  for (const way of ['link', 'filter'] as const satisfies readonly TcMethod[]) {
    it(`sees what leaves by a ${way}, and passes the replies to it`, async () => {
      const driver = createKernelDriver({ pins: join(bpffs, way), tc: [way] });
      const policies = [denyAll(OURS[4]), denyAll(OURS[6])];
      within((ifindex) => {
        driver.load(policies.map(compileEarly), EARLY_SETTINGS, NO_UNIONS);
        driver.enforce();
        assert.deepEqual(driver.watch([ifindex]), []);
        assert.equal(driver.watchesExactly([ifindex]), true);
        const attached = driver.attach(ifindex);
        assert.deepEqual(attached, { mode: 'native', pinned: true, refusal: null });
      });
      for (const family of [4, 6] as const) await seenLeaving(driver, family);
      within((ifindex) => {
        driver.detach(ifindex);
        driver.watch([]);
        assert.equal(driver.watchesExactly([ifindex]), false);
      });
      driver.close();
    });

    it(`goes on watching alone, and is taken over by the next agent with all that it knows (${way})`, async () => {
      const options = { pins: join(bpffs, `${way}-next`), tc: [way] };
      const first = createKernelDriver(options);
      within((ifindex) => {
        assert.equal(first.hasPredecessor(), false);
        first.load([compileEarly(denyAll(OURS[4]))], EARLY_SETTINGS, NO_UNIONS);
        first.enforce();
        first.watch([ifindex]);
        first.attach(ifindex);
      });
      const port = await seenLeaving(first, 4);
      first.close();
      const next = createKernelDriver(options);
      within((ifindex) => {
        assert.deepEqual(next.devices(), [ifindex]);
        assert.equal(next.hasPredecessor(), true);
        next.load([compileEarly(denyAll(OURS[4]))], EARLY_SETTINGS, NO_UNIONS);
        assert.equal(next.hasPredecessor(), false);
        next.watch([ifindex]);
        next.enforce();
        assert.deepEqual([next.attached(ifindex), next.watchesExactly([ifindex])], [true, true]);
      });
      assert.equal(judgeReply(next, 4, port), 'pass');
      await seenLeaving(next, 4);
      within((ifindex) => {
        next.detach(ifindex);
        next.watch([]);
        assert.deepEqual(next.devices(), []);
      });
      next.close();
    });
  }

  it('remembers what leaves an open address too while all is marked, and not otherwise', async () => {
    const driver = createKernelDriver({ pins: join(bpffs, 'marks-all') });
    within((ifindex) => {
      driver.load([compileEarly(denyAll(OURS[4]))], EARLY_SETTINGS, NO_UNIONS);
      driver.enforce();
      driver.watch([ifindex]);
    });
    // The neighbour is resolved from now on, so no packet is queued.
    await seenLeaving(driver, 4);
    driver.change([], [OURS[4]]);
    const ports: number[] = [];
    for (const marksAll of [false, true]) {
      driver.configure({ ...EARLY_SETTINGS, marksAll });
      ports.push(await sendAway(4));
    }
    driver.configure(EARLY_SETTINGS);
    driver.change([compileEarly(denyAll(OURS[4]))], []);
    assert.deepEqual(
      ports.map((port) => judgeReply(driver, 4, port)),
      ['drop', 'pass'],
    );
    within(() => driver.watch([]));
    driver.close();
  });

  it('works without a bpffs that it may write to, and says what keeps it from taking over', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-frozen-'));
    const frozen = join(folder, 'bpffs');
    mountBpffs(frozen);
    t.after(() => {
      unmountBpffs(frozen);
      rmSync(folder, { recursive: true });
    });
    const freeze = (how: 'ro' | 'rw') => execFileSync('mount', ['-o', `remount,${how}`, frozen]);
    const begun = (name: string) => {
      const driver = createKernelDriver({ pins: join(frozen, name) });
      assert.equal(driver.probe(), null);
      driver.load([compileEarly(denyAll(OURS[4]))], EARLY_SETTINGS, NO_UNIONS);
      driver.enforce();
      return driver;
    };
    within((ifindex) => {
      freeze('ro');
      const unpinned = begun('new');
      assert.deepEqual(unpinned.attach(ifindex), { mode: 'native', pinned: false, refusal: null });
      assert.equal(unpinned.evaluate(frameOf(replyTo(4, 9)), ifindex), 'drop');
      unpinned.detach(ifindex);
      unpinned.close();
      freeze('rw');
      const pinned = begun('pins');
      assert.deepEqual(pinned.attach(ifindex), { mode: 'native', pinned: true, refusal: null });
      // What was pinned before can be taken over as soon as it can be reached again.
      freeze('ro');
      const next = begun('pins');
      assert.deepEqual(next.attach(ifindex), { mode: 'tc', pinned: false, refusal: 'EBUSY' });
      next.detach(ifindex);
      next.close();
      pinned.detach(ifindex);
      pinned.close();
    });
  });

  for (const [what, rules, places] of [
    ['few rules', 3, 2],
    ['as many as stand in the value', 17, 2],
    ['more rules than stand in a value', 140, 2],
  ] as const) {
    it(`finds what somebody changed in any map of an address with ${what}`, () => {
      const driver = createKernelDriver({ pins: '' });
      const ports = Array.from({ length: rules }, (_, index) =>
        allowPort('udp', 1_000 + 3 * index),
      );
      const target = denyAll(OURS[4], ports);
      driver.load([target, denyAll(THEIRS[4])].map(compileEarly), EARLY_SETTINGS, NO_UNIONS);
      driver.enforce();
      assert.equal(driver.isIntact(OURS[4]), true);
      const changed = withMapsOf(process.pid, (maps) =>
        maps
          .map((map) => harmful(map, () => driver.isIntact(OURS[4])))
          .filter((count) => count > 0),
      );
      assert.ok(changed.length >= places, `in ${changed.length} maps`);
      assert.deepEqual([driver.isIntact(OURS[4]), driver.isIntact(THEIRS[4])], [true, true]);
      driver.close();
    });
  }

  for (const way of ['link', 'filter'] as const satisfies readonly TcMethod[]) {
    it(`drops at tc ingress where another program has XDP, until XDP is free (${way})`, async () => {
      const other = createKernelDriver({ pins: '' });
      const options = { pins: join(bpffs, `later-${way}`), tc: [way] };
      const begun = (): EarlyDropDriver => {
        const driver = createKernelDriver(options);
        driver.load(
          [OURS[4], OURS[6]].map((target) => compileEarly(denyAll(target))),
          EARLY_SETTINGS,
          NO_UNIONS,
        );
        driver.enforce();
        return driver;
      };
      const later = within((ifindex) => {
        other.load([], EARLY_SETTINGS, NO_UNIONS);
        other.enforce();
        assert.equal(other.attach(ifindex).mode, 'native');
        const driver = begun();
        assert.deepEqual(driver.attach(ifindex), { mode: 'tc', pinned: true, refusal: 'EBUSY' });
        assert.equal(driver.attached(ifindex), true);
        assert.equal(driver.attach(99_999).mode, 'none');
        return driver;
      });
      await dropped(later, [5353, 5354]);
      later.close();
      const next = within((ifindex) => {
        const driver = begun();
        assert.deepEqual(driver.devices(), [ifindex], 'taken over');
        other.detach(ifindex);
        assert.deepEqual(driver.attach(ifindex), { mode: 'native', pinned: true, refusal: null });
        assert.equal(countPrograms(ifindex, 'tcxIngress'), 0);
        return driver;
      });
      await dropped(next, [5355]);
      within((ifindex) => next.detach(ifindex));
      next.close();
      other.close();
    });
  }

  /** Datagrams from the other side to these ports are dropped and counted one by one. */
  async function dropped(driver: EarlyDropDriver, ports: readonly number[]): Promise<void> {
    const script = `import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in ${JSON.stringify(ports)}: s.sendto(b"x", ("${OURS[4]}", port))`;
    theirs.run('python3', '-c', script);
    let packets = 0;
    await eventually('they were dropped', async () => {
      for (const count of driver.counts()) packets += count.packets;
      return packets >= ports.length;
    });
    assert.equal(packets, ports.length);
  }

  it('passes replies to flows that were learnt at any moment of a second', () => {
    const driver = createKernelDriver({ pins: '' });
    driver.load([compileEarly(denyAll(OURS[4]))], EARLY_SETTINGS, NO_UNIONS);
    const address = (text: string): Buffer => Buffer.from(text.split('.').map(Number));
    const flow = { family: 4, protocol: 17, remotePort: 5353 } as const;
    const ends = { local: address(OURS[4]), remote: address(THEIRS[4]) };
    const beginMs = performance.now();
    for (let port = 1024; port < 65_536 && performance.now() - beginMs < 1100; port++) {
      driver.remember([{ ...flow, ...ends, localPort: port }]);
      assert.equal(judgeReply(driver, 4, port), 'pass');
    }
    driver.close();
  });

  /** Sends a datagram of a new flow out of the namespace; resolves with its port when the driver must have seen it. */
  async function seenLeaving(driver: EarlyDropDriver, family: 4 | 6): Promise<number> {
    const port = await sendAway(family, (from) =>
      assert.equal(judgeReply(driver, family, from), 'drop'),
    );
    // It leaves when its neighbour is resolved.
    await eventually('it was seen', async () => judgeReply(driver, family, port) === 'pass');
    assert.equal(judgeReply(driver, family, port + 1), 'drop');
    return port;
  }

  /** Resolves with its source port. */
  async function sendAway(
    family: 4 | 6,
    before: (port: number) => void = () => {},
  ): Promise<number> {
    const socket = ours.within(() => {
      // Looked up at once, so that it is bound before this thread leaves the namespace.
      const made = createSocket({
        type: family === 4 ? 'udp4' : 'udp6',
        lookup: (name, _, done) => done(null, name, family),
      });
      made.bind(0, OURS[family]);
      return made;
    });
    const { port } = socket.address();
    before(port);
    await new Promise<void>((resolve, reject) => {
      socket.send('x', 5353, THEIRS[family], (error) => (error ? reject(error) : resolve()));
    });
    socket.close();
    return port;
  }

  function judgeReply(driver: EarlyDropDriver, family: 4 | 6, port: number): string {
    return within((ifindex) => driver.evaluate(frameOf(replyTo(family, port)), ifindex));
  }
});

function replyTo(family: 4 | 6, port: number): Packet {
  return udpPacket(THEIRS[family], OURS[family], port, 5353);
}

/** Changes and restores each element in turn; returns how many changes were found. */
function harmful(map: Descriptor, isWhole: () => boolean): number {
  const { type, valueSize, maxEntries } = mapShapeOf(map);
  // Flows and counters stand in larger ones.
  if (maxEntries > 1_000 || !['hash', 'array', 'lpmTrie'].includes(type)) return 0;
  return keysOf(map).filter((key) => {
    const value = Buffer.alloc(valueSize);
    // Unused entries of an array keep their initial value.
    if (!lookupElement(map, key, value) || value.every((byte) => byte === 0)) return false;
    updateElement(map, key, Buffer.from(value.map((byte) => byte ^ 0x5a)));
    const found = !isWhole();
    updateElement(map, key, value);
    return found;
  }).length;
}
