import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { allowPort, denyAll } from '@portcullis/dataplane/testing/policies.ts';
import { createForwardingHost } from '@portcullis/dataplane/xdp/create.ts';
import { deviceName, readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { ForwardingWire, SERVER, SERVER_PORT } from '../../differential/forwarding-wire.ts';
import { driverWithin } from '../../driver-within.ts';
import { require } from '../../requirements.ts';
import { eventually, type Game, playOn, TURNS } from './game.ts';

describe('the fast path of answered flows', () => {
  it('carries a game between sockets, whatever their host leaves to the card', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    await edge.apply([denyAll(SERVER[4], [allowPort('udp', SERVER_PORT)])]);
    assert.deepEqual([edge.drop.fastPath().reason, edge.drop.problems()], [null, []]);
    // Checksums that a card would finish are finished by the network stack, also of answers, which leave as buffers.
    await eventually(async () => {
      edge.look();
      return (await edge.play()) && edge.drop.fastPath().packets > 0;
    });
    assert.deepEqual([...edge.answering().values()], ['tc']);
    const { packets } = edge.drop.fastPath();
    edge.wire.client.run('ethtool', '-K', 'eth', 'tx', 'off');
    // More than answers alone.
    await eventually(async () => {
      const before = edge.drop.fastPath().packets;
      return (await edge.play()) && edge.drop.fastPath().packets - before > TURNS;
    });
    assert.ok(edge.drop.fastPath().packets > packets);
    edge.drop.remove();
    assert.equal(edge.answering().size, 0);
    assert.equal(await edge.play(), true);
  });

  it('ends with the rule that let the flow in, and while rules are written', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    edge.wire.client.run('ethtool', '-K', 'eth', 'tx', 'off');
    await edge.apply([denyAll(SERVER[4], [allowPort('udp', SERVER_PORT)])]);
    await eventually(async () => (await edge.play()) && edge.drop.fastPath().packets > 0);
    edge.drop.suspendForwarding();
    const { packets } = edge.drop.fastPath();
    assert.equal(await edge.play(), true);
    assert.equal(edge.drop.fastPath().packets, packets);
    await edge.apply([denyAll(SERVER[4])]);
    assert.equal(await edge.play(), false);
    assert.equal(edge.drop.fastPath().packets, packets);
  });

  it('is off while another program, a route or a device has a say, and says why', async (t) => {
    const edge = await edgeOf(t);
    if (edge === null) return;
    const { edge: host } = edge.wire;
    await edge.apply([denyAll(SERVER[4], [allowPort('udp', SERVER_PORT)])]);
    const chain = 'chain forward { type filter hook forward priority 0;';
    const cases: readonly (readonly [RegExp, string[], string[]])[] = [
      [
        /chain forward of the table inet other \(at forward\)/,
        ['nft', `table inet other { ${chain} counter; }; }`],
        ['nft', 'delete table inet other'],
      ],
      [
        /chain forward of the table ip other \(at forward\)/,
        ['nft', `table ip other { ${chain} policy drop; }; }`],
        ['nft', 'delete table ip other'],
      ],
      [
        /chain taps of the table netdev other \(of a device\)/,
        [
          'nft',
          'table netdev other { chain taps { type filter hook ingress device "wan" priority 0; counter; }; }',
        ],
        ['nft', 'delete table netdev other'],
      ],
      [
        /routes by the mark/,
        ['ip', 'rule', 'add', 'fwmark', '1', 'table', '100'],
        ['ip', 'rule', 'del', 'fwmark', '1', 'table', '100'],
      ],
      [
        /filters of tc/,
        ['tc', 'qdisc', 'add', 'dev', 'wan', 'clsact'],
        ['tc', 'qdisc', 'del', 'dev', 'wan', 'clsact'],
      ],
    ];
    for (const [reason, change, back] of cases) {
      host.run(...change);
      await eventually(async () => reason.test(edge.look().reason ?? ''));
      host.run(...back);
      await eventually(async () => edge.look().isOn);
    }
    // A chain without rules, as distributions ship it, does nothing.
    host.run('nft', `table inet filter { ${chain} }; }`);
    await wait(1_100);
    assert.equal(edge.look().reason, null);
  });
});

class FastEdge {
  readonly wire: ForwardingWire;
  readonly drop: EarlyDrop;
  readonly answering: EarlyDropDriver['answering'];
  readonly play: Game['play'];
  #generation = 0;

  constructor(wire: ForwardingWire, drop: EarlyDrop, driver: EarlyDropDriver, game: Game) {
    this.wire = wire;
    this.drop = drop;
    this.answering = () => driver.answering();
    this.play = () => game.play();
  }

  async apply(policies: readonly Policy[]): Promise<void> {
    const desired: Desired = {
      generation: ++this.#generation,
      policies: new Map(policies.map((policy) => [policy.target, policy])),
      sourceSets: { version: '', sets: {} },
      settings: {
        name: 'edge',
        site: 'lab',
        devices: ['wan'],
        management: [],
        sees: 'both',
        fragments: 'reassemble',
      },
    };
    this.drop.suspendForwarding();
    await this.drop.apply(desired, []);
  }

  /** Repairs like the agent, which does it four times a second. */
  look(): ReturnType<EarlyDrop['fastPath']> {
    this.drop.repair();
    return this.drop.fastPath();
  }
}

async function edgeOf(t: TestContext): Promise<FastEdge | null> {
  if (!require(t, ['root', 'netns', 'nft', 'bpf', 'ethtool', 'python3'])) return null;
  const wire = new ForwardingWire();
  const { edge } = wire;
  const driver = driverWithin(edge, createKernelDriver({ pins: '' }));
  const host = createForwardingHost();
  const plain = { uppers: [], isPort: false, hidesTags: false, isEthernet: true };
  const drop = new EarlyDrop({
    driver,
    // The rest is read from /sys, which shows the namespace of the process.
    readDevice: (name) => {
      const device = edge.within(() => readDevice(name));
      return device === null ? null : { ...device, ...plain };
    },
    deviceName: (ifindex) => edge.within(() => deviceName(ifindex)),
    listDevices: () => ['wan', 'lan', 'lan2'],
    openFlows: async () => true,
    remember: () => ({ tcp: 600, udp: 600, other: 600 }),
    forwarding: {
      skipped: () => edge.within(() => host.skipped()),
      ports: (entries, answering) => edge.within(() => host.ports(entries, answering)),
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const game = await playOn(wire);
  t.after(() => {
    game.stop();
    drop.remove();
    driver.close();
    wire.destroy();
  });
  return new FastEdge(wire, drop, driver, game);
}
