import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { UdpFilter } from '@portcullis/core/filters/filter.ts';
import { CLIENT, SERVER } from '../../../stack/internet.ts';
import { require } from '../../../requirements.ts';
import { type UdpEnd, UdpPeer } from '../../../wire/udp-peer.ts';
import { filteredPolicy as filtered } from '@portcullis/dataplane/testing/policies.ts';
import { FilterEdge } from '../filter-edge.ts';

const GAME = 27_500;
const OTHER = 27_600;
const RATES = { unvalidatedPps: 20, validatedPps: 300 };

interface Players {
  readonly fixture: FilterEdge;
  readonly client: UdpPeer;
  readonly server: UdpPeer;
  /** Sends packets to the port; returns how many the server received. */
  reach(from: UdpEnd, to: UdpEnd, address: string, count: number, data?: string): Promise<number>;
}

async function play(
  t: TestContext,
  label: string,
  change: Partial<UdpFilter> = {},
): Promise<Players | null> {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return null;
  const fixture = new FilterEdge(label, { udp: { rates: RATES, budgetPps: 100, ...change } });
  t.after(() => fixture.destroy());
  const client = new UdpPeer(fixture.internet.client);
  t.after(() => client.stop());
  const server = new UdpPeer(fixture.internet.server);
  t.after(() => server.stop());
  // On a port without a filter: when it arrives, all earlier packets have arrived or were dropped.
  for (const family of [4, 6] as const) await server.open(SERVER[family], OTHER, '');
  const reach: Players['reach'] = async (from, to, address, count, data) => {
    const before = await to.received();
    await from.send(address, GAME, count, data);
    await from.exchange(address, OTHER);
    return (await to.received()) - before;
  };
  return { fixture, client, server, reach };
}

/** Packets that a rate passes within a time: its burst, plus its rate each second. */
function assertRate(passed: number, pps: number, seconds: number, what: string): void {
  assert.ok(passed >= pps, `${what}: only ${passed} passed`);
  assert.ok(passed <= pps * (1 + seconds) + 1, `${what}: ${passed} passed in ${seconds} s`);
}

describe('udp-stateful', () => {
  for (const family of [4, 6] as const) {
    const to = SERVER[family];

    it(`IPv${family}: a source that the server does not answer is slow`, async (t) => {
      const players = await play(t, `udp${family}`);
      if (players === null) return;
      const { fixture, client, server, reach } = players;
      await fixture.apply([filtered(to, ['udp-stateful', GAME])]);
      const silent = await server.open(to, GAME);
      const stranger = await client.open(CLIENT[family]);
      const begin = performance.now();
      const passed = await reach(stranger, silent, to, 200);
      assertRate(passed, RATES.unvalidatedPps, (performance.now() - begin) / 1000, 'unvalidated');
      assert.deepEqual(await fixture.keys(`validated${family}`), []);
      assert.deepEqual(await fixture.dropped(), {
        [`${to} ${GAME} unvalidated-rate`]: 200 - passed,
      });
    });

    it(`IPv${family}: a source that the server has answered is fast`, async (t) => {
      const players = await play(t, `udpv${family}`);
      if (players === null) return;
      const { fixture, client, server, reach } = players;
      await fixture.apply([filtered(to, ['udp-stateful', GAME])]);
      const echo = await server.open(to, GAME, '');
      const player = await client.open(CLIENT[family]);
      await player.exchange(to, GAME);
      assert.equal((await fixture.keys(`validated${family}`)).length, 1);
      // The second question and its answer are neither of a new source nor a second validation.
      await player.exchange(to, GAME);
      assert.deepEqual(await fixture.passed(), {
        [`${to} ${GAME} greeted`]: 1,
        [`${to} ${GAME} validated`]: 1,
      });
      assert.equal(await reach(player, echo, to, 200), 200);
      const begin = performance.now();
      const passed = await reach(player, echo, to, 600);
      const most = RATES.validatedPps * (1 + (performance.now() - begin) / 1000);
      assert.ok(passed >= RATES.validatedPps - 200 && passed <= most + 1, `${passed} of 600`);
      assert.deepEqual(await fixture.dropped(), {
        [`${to} ${GAME} validated-rate`]: 600 - passed,
      });
    });
  }

  it('settings apply to the next packet, and nobody reconnects', async (t) => {
    const players = await play(t, 'udp-set');
    if (players === null) return;
    const { fixture, client, server, reach } = players;
    const to = SERVER[4];
    await fixture.apply([filtered(to, ['udp-stateful', GAME])]);
    const echo = await server.open(to, GAME, '');
    const player = await client.open(CLIENT[4], 40_000);
    await player.exchange(to, GAME);
    assert.equal(await reach(player, echo, to, 200), 200);
    const settings = { sourcePps: 20, newPerSecond: 5, maxLength: 8, sourcePorts: '30000-40000' };
    await fixture.apply([filtered(to, ['udp-stateful', GAME, settings])]);
    assert.equal((await fixture.keys('validated4')).length, 1, 'nobody is forgotten');
    const begin = performance.now();
    assert.equal(await reach(player, echo, to, 5, '78'.repeat(8)), 5);
    assert.equal(await reach(player, echo, to, 5, '78'.repeat(9)), 0);
    const elsewhere = await client.open(CLIENT[4], 40_001);
    assert.equal(await reach(elsewhere, echo, to, 5), 0);
    const passed = 5 + (await reach(player, echo, to, 200));
    assertRate(passed, 20, (performance.now() - begin) / 1000, 'of a validated source');
    const began = performance.now();
    const before = await echo.received();
    fixture.noise('udp', to, GAME, 500);
    await elsewhere.exchange(to, OTHER);
    const forged = (await echo.received()) - before;
    assert.ok(forged > 0, 'a queue, not a wall');
    assertRate(Math.max(forged, 5), 5, (performance.now() - began) / 1000, 'of all new sources');
    const dropped = await fixture.dropped();
    assert.equal(dropped[`${to} ${GAME} packet-length`], 5);
    assert.ok((dropped[`${to} ${GAME} source-port`] ?? 0) >= 5, JSON.stringify(dropped));
  });

  it('validates only for the port that was addressed', async (t) => {
    const players = await play(t, 'udp-other');
    if (players === null) return;
    const { fixture, client, server } = players;
    await fixture.apply([filtered(SERVER[4], ['udp-stateful', GAME])]);
    await server.open(SERVER[4], GAME);
    const stranger = await client.open(CLIENT[4]);
    await stranger.send(SERVER[4], GAME);
    await stranger.exchange(SERVER[4], OTHER);
    assert.deepEqual(await fixture.keys('validated4'), []);
  });

  it('lets validated players play while forged sources fill every meter', async (t) => {
    const players = await play(t, 'udp-noise');
    if (players === null) return;
    const { fixture, client, server, reach } = players;
    await fixture.apply([filtered(SERVER[4], ['udp-stateful', GAME])]);
    const echo = await server.open(SERVER[4], GAME, '');
    const player = await client.open(CLIENT[4]);
    await player.exchange(SERVER[4], GAME);
    const begin = performance.now();
    const sources = 150_000;
    fixture.noise('udp', SERVER[4], GAME, sources);
    const seconds = (performance.now() - begin) / 1000;
    // Both exchanges of the player passed, before and after.
    await player.exchange(SERVER[4], GAME);
    const forged = (await echo.received()) - 2;
    assertRate(forged, 100, seconds, 'of all forged sources together');
    assert.equal(await reach(player, echo, SERVER[4], 200), 200);
    const dropped = Object.values(await fixture.dropped()).reduce((sum, one) => sum + one, 0);
    assert.equal(dropped, sources - forged);
  });
});
