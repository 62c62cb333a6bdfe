import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Family } from '@portcullis/core/net/address.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { planPorts, readPortFacts } from '@portcullis/dataplane/xdp/forwarding/ports.ts';
import { driverWithin } from '../driver-within.ts';
import { require } from '../requirements.ts';
import {
  answerTo,
  type Datagram,
  datagram,
  ForwardingWire,
  MARKED,
  SERVER,
  SERVER_PORT,
} from './forwarding-wire.ts';

const FAMILIES = [4, 6] as const satisfies readonly Family[];
const PATIENCE_MS = 30_000;
const NO_FRAGMENT = 0x4000;

/** Frames that leave an edge are the same whether its network stack forwards them or the early drop. */
describe('frames that are forwarded without the network stack', () => {
  it('equal those of the network stack to the byte, whatever is special about them', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    await edge.assertEqual(FAMILIES.flatMap(everyKind));
  });

  it('follow routes, neighbours, MTUs and addresses of devices', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    const { wire } = edge;
    const frames = FAMILIES.flatMap((family) =>
      [20, 600, 1300].map((length) => ({ family, payload: payloadOf(length) })),
    );
    await edge.assertEqual(frames);
    const changes: readonly (() => void)[] = [
      () => wire.edge.run('ip', 'link', 'set', 'lan', 'mtu', '1280'),
      () => wire.edge.run('ip', 'link', 'set', 'lan', 'mtu', '1500'),
      () => wire.setNeighbour('lan', '02:00:00:00:aa:01'),
      () => wire.routeBy('lan2'),
      () => wire.edge.run('ip', 'link', 'set', 'lan2', 'address', '02:00:00:00:aa:02'),
      () => wire.edge.run('ip', 'link', 'set', 'wan', 'address', '02:00:00:00:aa:03'),
      () => wire.routeBy('lan'),
    ];
    for (const change of changes) {
      change();
      await edge.assertEqual(frames);
    }
  });

  it('are none to a device without a route, without frames from XDP, or that is down', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    const { wire } = edge;
    wire.behind.run('ethtool', '-K', 'lan', 'gro', 'off');
    const frames = FAMILIES.map((family) => ({ family, payload: payloadOf(100) }));
    assert.equal(await edge.forwardedOf(frames), 0);
    wire.behind.run('ethtool', '-K', 'lan', 'gro', 'on');
    await edge.assertEqual(frames);
  });
});

/** Frames that the network stack treats in a special way, and plain ones. */
function everyKind(family: Family): Omit<Datagram, 'to'>[] {
  const payload = payloadOf(64);
  const some: Omit<Datagram, 'to'>[] = [
    ...[5, 18, 19, 46, 47, 400, 1200, 1400].map((length) => ({
      family,
      payload: payloadOf(length),
    })),
    ...[1, 2, 3, 255].map((hopLimit) => ({ family, payload, hopLimit })),
    ...[0x10, 0xb8, 0xff].map((service) => ({ family, payload, service })),
    { family, payload, checksum: 'wrong' },
    { family, payload, checksum: 'none' },
    { family, payload, longer: 3 },
    { family, payload, padding: 9 },
    { family, payload: payloadOf(5), padding: 13 },
  ];
  if (family === 6) return [...some, { family, payload, flowLabel: 0x12345 }];
  return [
    ...some,
    { family, payload, fragment: NO_FRAGMENT },
    { family, payload, fragment: 0x8000 },
    { family, payload, options: Buffer.alloc(4, 1) },
    { family, payload, headerChecksum: 'wrong' },
  ];
}

let numbered = 0;

/** No two are equal. */
function payloadOf(length: number): Buffer {
  const payload = Buffer.alloc(Math.max(length, MARKED.length / 2 + 3), length);
  payload.write(MARKED, 0, 'hex');
  payload.writeUIntBE(++numbered, MARKED.length / 2, 3);
  return payload;
}

/** The early drop on a wire, with our policies and without nftables. */
class FrameEdge {
  readonly wire: ForwardingWire;
  readonly #driver: EarlyDropDriver;

  constructor(wire: ForwardingWire, driver: EarlyDropDriver) {
    this.wire = wire;
    this.#driver = driver;
    const indexes = ['wan', 'lan', 'lan2'].map((device) => this.#indexOf(device));
    const policies = FAMILIES.map((family) =>
      denyAll(SERVER[family], [allowPort('udp', SERVER_PORT)]),
    );
    driver.load(policies.map(compileEarly), EARLY_SETTINGS, NO_UNIONS);
    driver.enforce();
    const attached = driver.attach(this.#indexOf('wan'));
    assert.equal(attached.mode, 'native');
    assert.deepEqual(driver.watch(indexes), []);
    assert.equal(driver.forwardObstacle(), null);
  }

  /** A next hop may be a second old. */
  async assertEqual(kinds: readonly Omit<Datagram, 'to'>[]): Promise<void> {
    const frames = this.#framesOf(kinds);
    this.#driver.forward(null);
    const expected = await this.wire.exchange(frames);
    assert.ok(expected.length > 0, 'the network stack forwards none');
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const before = this.#driver.forwarded();
      this.#forward(kinds);
      const arrived = await this.wire.exchange(frames);
      const forwarded = this.#driver.forwarded() - before;
      const isSame = JSON.stringify(arrived) === JSON.stringify(expected);
      if (isSame && forwarded > 0) return;
      if (performance.now() < deadlineMs) continue;
      assert.deepEqual(arrived, expected);
      assert.ok(forwarded > 0, 'nothing is forwarded without the network stack');
    }
  }

  async forwardedOf(kinds: readonly Omit<Datagram, 'to'>[]): Promise<number> {
    const before = this.#driver.forwarded();
    this.#forward(kinds);
    await this.wire.exchange(this.#framesOf(kinds));
    return this.#driver.forwarded() - before;
  }

  #framesOf(kinds: readonly Omit<Datagram, 'to'>[]): Buffer[] {
    const { mac } = this.wire.linkOf(this.wire.edge, 'wan');
    return kinds.map((kind) => datagram({ ...kind, to: mac }));
  }

  /** The server answers, and packets may be forwarded. */
  #forward(kinds: readonly Omit<Datagram, 'to'>[]): void {
    const wan = this.#indexOf('wan');
    const { ports } = this.wire.edge.within(() =>
      planPorts(
        readPortFacts([wan], () => false),
        [wan],
      ),
    );
    this.#driver.forward(ports);
    for (const family of new Set(kinds.map((kind) => kind.family)))
      this.#driver.leave(answerTo(family), wan);
  }

  #indexOf(device: string): number {
    return this.wire.linkOf(this.wire.edge, device).ifindex;
  }
}

async function edgeOf(t: TestContext): Promise<FrameEdge | null> {
  if (!require(t, ['root', 'netns', 'bpf', 'ethtool', 'python3'])) return null;
  const wire = new ForwardingWire();
  const driver = driverWithin(wire.edge, createKernelDriver({ pins: '' }));
  t.after(() => {
    driver.close();
    wire.destroy();
  });
  await wire.listen();
  return new FrameEdge(wire, driver);
}
