import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { renderAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { filteredPolicy } from '@portcullis/dataplane/testing/policies.ts';
import { trackedFlows } from '@portcullis/dataplane/xdp/create.ts';
import { deviceName, readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';
import { driverWithin } from '../../driver-within.ts';
import { require } from '../../requirements.ts';
import { CLIENT, EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { UdpPeer } from '../../wire/udp-peer.ts';
import { FilterEdge } from '../filters/filter-edge.ts';

const GAME = 27_500;
/** The rate of each answered flow of a named source, and its burst. */
const ANSWERED_PPS = 250;
const ROUNDS = 100;
const FORGED_A_ROUND = 30;
/** Conntrack takes a flow for a lasting one after two seconds. */
const OLD_MS = 2_000;

/**
 * A flood from the address of a player: to the edge its packets are those of another socket of that address, or of the
 * player's own.
 */
describe('a flood from the forged address of a connected player', () => {
  for (const family of [4, 6] as const) {
    for (const early of [false, true]) {
      const where = early ? 'behind the early drop' : 'with nftables alone';

      it(`IPv${family}, ${where}: takes nothing from the player, and is dropped or limited to a player’s rate`, async (t) => {
        const on = await field(t, family, early);
        if (on === null) return;
        const { edge, client, server, to } = on;
        const game = await server.open(to, GAME, '');
        const old = await client.open(CLIENT[family]);
        const another = await client.open(CLIENT[family]);
        // From an address that is not named: what was sent before has arrived, or was dropped.
        const other = await client.open(CLIENT.others[family === 4 ? 0 : 3]);
        await edge.apply([filteredPolicy(to)]);
        for (const player of [old, another]) await player.exchange(to, GAME);
        await setTimeout(OLD_MS + 100);
        await edge.apply([attacked(to, CLIENT[family])]);
        const forged = await client.open(CLIENT[family]);
        for (let round = 0; round < ROUNDS; round++) {
          await forged.send(to, GAME, FORGED_A_ROUND);
          await old.send(to, GAME);
        }
        await another.send(to, GAME);
        await other.exchange(to, GAME);
        assert.equal(await game.received(), 2 + ROUNDS + 2, 'all of the players, none of the rest');
        assert.equal(await old.received(), 1 + ROUNDS);
        if (early) assert.equal(await edge.droppedEarly(), ROUNDS * FORGED_A_ROUND);

        // From the player's own port it shares the rate of the player, and nobody else's.
        const before = await game.received();
        const begin = performance.now();
        await old.send(to, GAME, 4 * ANSWERED_PPS);
        await another.send(to, GAME);
        await other.exchange(to, GAME);
        const seconds = (performance.now() - begin) / 1000;
        const passed = (await game.received()) - before - 2;
        const most = ANSWERED_PPS * (1 + seconds) + 1;
        assert.ok(passed >= ANSWERED_PPS - ROUNDS && passed <= most, `${passed} in ${seconds} s`);
      });
    }
  }

  it('is dropped also where the host answered it before the mitigation came', async (t) => {
    const on = await field(t, 4, true);
    if (on === null) return;
    const { edge, client, server, to } = on;
    const game = await server.open(to, GAME, '');
    const other = await client.open(CLIENT.others[0]);
    for (let isInTime = false; !isInTime; ) {
      await edge.apply([filteredPolicy(to)]);
      const begin = performance.now();
      const forged = await client.open(CLIENT[4]);
      await forged.exchange(to, GAME);
      await edge.apply([attacked(to, CLIENT[4])]);
      const answered = await game.received();
      await forged.send(to, GAME, 10);
      await other.exchange(to, GAME);
      // On a loaded machine the flow may be an old one by then.
      isInTime = performance.now() - begin < OLD_MS;
      if (!isInTime) continue;
      await setTimeout(OLD_MS + 100);
      await forged.send(to, GAME, 10);
      await other.exchange(to, GAME);
      assert.equal((await game.received()) - answered, 2);
    }
  });

  it('is limited to a player’s rate where answers are not seen, and not dropped whole', async (t) => {
    const on = await field(t, 4, true);
    if (on === null) return;
    const { edge, client, server, to } = on;
    const game = await server.open(to, GAME, '');
    await edge.apply([attacked(to, CLIENT[4])], 'inbound');
    const begin = performance.now();
    const forged = await client.open(CLIENT[4]);
    await forged.send(to, GAME, 4 * ANSWERED_PPS);
    const other = await client.open(CLIENT.others[0]);
    await other.exchange(to, GAME);
    const seconds = (performance.now() - begin) / 1000;
    const passed = (await game.received()) - 1;
    const most = ANSWERED_PPS * (1 + seconds) + 1;
    assert.ok(passed >= ANSWERED_PPS && passed <= most, `${passed} in ${seconds} s`);
  });
});

/** The source is named by an attack. */
function attacked(target: string, source: string): Policy {
  const action = { kind: 'source', source, protocol: 'udp' } as const;
  const rendering = { ref: 'mitigation:1', mode: 'enforce', safelist: [] } as const;
  const rendered = renderAction(action, rendering);
  assert.ok(rendered.part === 'mitigation');
  return { ...filteredPolicy(target), mitigations: [rendered.value] };
}

/** nftables, and the early drop in front of it, as an agent applies policies to them. */
class TwoStages {
  readonly #nftables: FilterEdge;
  readonly #early: EarlyDrop | null;

  constructor(nftables: FilterEdge, early: EarlyDrop | null) {
    this.#nftables = nftables;
    this.#early = early;
  }

  async apply(policies: readonly Policy[], sees: EdgeSettings['sees'] = 'both'): Promise<void> {
    await this.#nftables.apply(policies, sees);
    if (this.#early === null) return;
    const settings = { name: 'lab', site: 'lab', devices: [EDGE_DEVICE], management: [] };
    await this.#early.apply(
      {
        policies: new Map(policies.map((policy) => [policy.target, policy])),
        sourceSets: { version: '1', sets: {} },
        settings: { ...settings, sees, fragments: 'reassemble' },
      },
      [],
    );
    assert.deepEqual([this.#early.modeOf(EDGE_DEVICE).xdp, this.#early.problems()], ['native', []]);
  }

  async droppedEarly(): Promise<number> {
    const { entries } = (await this.#early?.read()) ?? { entries: [] };
    return entries.reduce((sum, { packets }) => sum + packets, 0);
  }
}

async function field(t: TestContext, family: Family, early: boolean) {
  const needed = ['root', 'netns', 'nft', 'python3'] as const;
  if (!require(t, early ? [...needed, 'bpf', 'ethtool'] : needed)) return null;
  const nftables = new FilterEdge(`answered${family}${early ? 'e' : ''}`);
  const { internet } = nftables;
  const stage = early ? earlyDropOf(nftables) : null;
  t.after(() => {
    stage?.remove();
    stage?.close();
    nftables.destroy();
  });
  const client = new UdpPeer(internet.client);
  t.after(() => client.stop());
  const server = new UdpPeer(internet.server);
  t.after(() => server.stop());
  return { edge: new TwoStages(nftables, stage), client, server, to: SERVER[family] };
}

function earlyDropOf({ internet: { client, edge } }: FilterEdge): EarlyDrop {
  client.run('ethtool', '-K', 'eth0', 'gro', 'on');
  edge.run('ethtool', '-K', EDGE_DEVICE, 'gro', 'on');
  const plain = { uppers: [], isPort: false, hidesTags: false, isEthernet: true };
  return new EarlyDrop({
    driver: driverWithin(edge, createKernelDriver({ pins: '' })),
    // The rest is read from /sys, which shows the namespace of the process.
    readDevice: (name) => {
      const device = edge.within(() => readDevice(name));
      return device === null ? null : { ...device, ...plain };
    },
    deviceName: (ifindex) => edge.within(() => deviceName(ifindex)),
    listDevices: () => [EDGE_DEVICE],
    openFlows: (take) => edge.within(() => trackedFlows(take)),
    remember: () => ({ tcp: 600, udp: 600, other: 600 }),
    forwarding: null,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
}
