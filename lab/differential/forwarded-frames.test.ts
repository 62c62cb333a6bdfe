import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Family } from '@portcullis/core/net/address.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { type Hook, HOOKS } from '@portcullis/dataplane/xdp/devices/links.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { planPorts, readPortFacts } from '@portcullis/dataplane/xdp/forwarding/ports.ts';
import { driverWithin } from '../driver-within.ts';
import { require } from '../requirements.ts';
import { sysctl } from '../stack/netns.ts';
import {
  type Datagram,
  datagram,
  ForwardingWire,
  type Inner,
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

  it('are the same at tc ingress, which needs no frames from XDP', async (t) => {
    const edge = await edgeOf(t, 'tc');
    if (edge === null) return;
    for (const device of ['lan', 'lan2'])
      edge.wire.behind.run('ethtool', '-K', device, 'gro', 'off');
    await edge.assertEqual(FAMILIES.flatMap(everyKind));
    edge.wire.routeBy('lan2');
    await edge.assertEqual(FAMILIES.flatMap(everyKind));
  });

  it('are none by another device than that of the answers', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    const frames = FAMILIES.map((family) => ({ family, payload: payloadOf(100) }));
    await edge.assertEqual(frames);
    assert.equal(await edge.forwardedOf(frames, 'lan2'), 0);
    await edge.assertEqual(frames);
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

for (const hook of HOOKS)
  describe(`answers that are forwarded without the network stack, ${hook}`, () => {
    const by = { device: 'lan', hook } as const;

    it('equal those of the network stack to the byte, whatever is special about them', async (t) => {
      const edge = await edgeOf(t);
      if (edge !== null) await edge.assertEqual(FAMILIES.flatMap(everyKind), by);
    });

    it('follow routes, neighbours, MTUs and addresses of devices', async (t) => {
      const edge = await edgeOf(t);
      if (edge === null) return;
      const { wire } = edge;
      const frames = FAMILIES.flatMap((family) =>
        [20, 600, 1300].map((length) => ({ family, payload: payloadOf(length) })),
      );
      await edge.assertEqual(frames, by);
      const changes: readonly (() => void)[] = [
        () => wire.edge.run('ip', 'link', 'set', 'wan', 'mtu', '1280'),
        () => wire.edge.run('ip', 'link', 'set', 'wan', 'mtu', '1500'),
        () => wire.setNeighbour('wan', '02:00:00:00:aa:01'),
        () => wire.edge.run('ip', 'link', 'set', 'lan', 'address', '02:00:00:00:aa:02'),
        () => wire.edge.run('ip', 'link', 'set', 'wan', 'address', '02:00:00:00:aa:03'),
      ];
      for (const change of changes) {
        change();
        await edge.assertEqual(frames, by);
      }
      await edge.assertEqual(frames, { ...by, device: 'lan2' });
    });

    it('are none within seconds after the network stack drops them', async (t) => {
      const edge = await edgeOf(t);
      if (edge === null) return;
      const { wire } = edge;
      await edge.assertEqual([{ family: 4, payload: payloadOf(100) }], by);
      for (const name of ['all', 'lan']) sysctl(wire.edge, `net.ipv4.conf.${name}.rp_filter`, 1);
      wire.routeBy('lan2');
      await edge.assertNoAnswers(by);
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
  some.push({ family, payload, vlan: 0 }, { family, payload, vlan: 100 });
  if (family === 6)
    return [
      ...some,
      { family, payload, flowLabel: 0x12345 },
      { family, payload, hasOptions: true },
    ];
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

/** The way of answers: the device that they enter by, and the hook of the program there. */
interface AnswersBy {
  readonly device: Inner;
  readonly hook: Hook;
}

/** The early drop on a wire, with our policies and without nftables. */
class FrameEdge {
  readonly wire: ForwardingWire;
  readonly #driver: EarlyDropDriver;
  readonly #hook: Hook;

  /** `hook`: of the early drop. */
  constructor(wire: ForwardingWire, driver: EarlyDropDriver, hook: Hook) {
    this.wire = wire;
    this.#driver = driver;
    this.#hook = hook;
    const indexes = ['wan', 'lan', 'lan2'].map((device) => this.#indexOf(device));
    const policies = FAMILIES.map((family) =>
      denyAll(SERVER[family], [allowPort('udp', SERVER_PORT)]),
    );
    const settings = { ...EARLY_SETTINGS, named: [this.#indexOf('wan')] };
    driver.load(policies.map(compileEarly), settings, NO_UNIONS);
    driver.enforce();
    const attached = driver.attach(this.#indexOf('wan'));
    assert.equal(attached.mode, hook);
    assert.deepEqual(driver.watch(indexes), []);
    assert.equal(driver.forwardObstacle(), null);
  }

  /** A next hop may be a second old. `by`: the frames are answers. */
  async assertEqual(
    kinds: readonly Omit<Datagram, 'to'>[],
    by: AnswersBy | null = null,
  ): Promise<void> {
    const frames = this.#framesOf(kinds, by);
    const from = by?.device ?? null;
    this.#driver.forward(null);
    const expected = await this.wire.exchange(frames, from);
    assert.ok(expected.length > 0, 'the network stack forwards none');
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const before = this.#driver.forwarded();
      this.#forward(kinds, by);
      const arrived = await this.wire.exchange(frames, from);
      const forwarded = this.#driver.forwarded() - before;
      const isSame = JSON.stringify(arrived) === JSON.stringify(expected);
      if (isSame && forwarded > 0) return;
      if (performance.now() < deadlineMs) continue;
      assert.deepEqual(arrived, expected);
      assert.ok(forwarded > 0, 'nothing is forwarded without the network stack');
    }
  }

  /** The network stack forwards none either, so that no packet may be waited for. */
  async assertNoAnswers(by: AnswersBy): Promise<void> {
    const [frame = Buffer.alloc(0)] = this.#framesOf([{ family: 4, payload: payloadOf(100) }], by);
    const deadlineMs = performance.now() + PATIENCE_MS;
    const ifindex = this.#indexOf(by.device);
    for (let silent = 0; silent < SILENT; ) {
      assert.ok(performance.now() < deadlineMs, 'it goes on');
      this.wire.send([frame], by.device);
      silent = this.#driver.forwardedAnswer(frame, ifindex, by.hook) === null ? silent + 1 : 0;
      await wait(100);
    }
  }

  /** `answered`: the device that answers leave by. */
  async forwardedOf(
    kinds: readonly Omit<Datagram, 'to'>[],
    answered: 'wan' | Inner = 'wan',
  ): Promise<number> {
    const before = this.#driver.forwarded();
    this.#forward(kinds, null, answered);
    await this.wire.exchange(this.#framesOf(kinds, null));
    return this.#driver.forwarded() - before;
  }

  #framesOf(kinds: readonly Omit<Datagram, 'to'>[], by: AnswersBy | null): Buffer[] {
    const { mac } = this.wire.linkOf(this.wire.edge, by?.device ?? 'wan');
    return kinds.map((kind) => datagram({ ...kind, to: mac, isAnswer: by !== null }));
  }

  /** The server answers, and packets may be forwarded. Only what the network stack forwards shows the way of answers. */
  #forward(
    kinds: readonly Omit<Datagram, 'to'>[],
    by: AnswersBy | null,
    answered: 'wan' | Inner = 'wan',
  ): void {
    const wan = this.#indexOf('wan');
    const inner = [this.#indexOf('lan'), this.#indexOf('lan2')];
    this.#driver.forwardAnswers(
      by === null ? [] : inner.map((ifindex) => ({ ifindex, hooks: [by.hook] })),
    );
    const answering = this.#driver.answering();
    const entries = new Map([[wan, this.#hook]]);
    const { ports } = this.wire.edge.within(() =>
      planPorts(
        readPortFacts({ entries, answering }, () => false),
        entries,
      ),
    );
    this.#driver.forward(
      ports.map((port) => ({ ...port, isEntry: port.isEntry || answering.has(port.ifindex) })),
    );
    if (by !== null) return;
    for (const family of new Set(kinds.map((kind) => kind.family)))
      this.#driver.leave(
        datagram({ family, to: LATER_MAC, payload: payloadOf(4), isAnswer: true }),
        this.#indexOf(answered),
      );
  }

  #indexOf(device: string): number {
    return this.wire.linkOf(this.wire.edge, device).ifindex;
  }
}

/** Looks in a row at which nothing is forwarded: three seconds and more. */
const SILENT = 30;
const LATER_MAC = '02:00:00:00:01:02';

async function edgeOf(t: TestContext, hook: Hook = 'native'): Promise<FrameEdge | null> {
  if (!require(t, ['root', 'netns', 'bpf', 'ethtool', 'python3'])) return null;
  const wire = new ForwardingWire();
  const driver = driverWithin(wire.edge, createKernelDriver({ pins: '', hooks: [hook] }));
  t.after(() => {
    driver.close();
    wire.destroy();
  });
  await wire.listen();
  return new FrameEdge(wire, driver, hook);
}
