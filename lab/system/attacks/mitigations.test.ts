import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { filteredPolicy } from '@portcullis/dataplane/testing/policies.ts';
import { NftablesDrops } from '@portcullis/dataplane/nftables/elements/drop-source.ts';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { CLIENT, SERVER } from '../../stack/internet.ts';
import { require } from '../../requirements.ts';
import { TcpEnd } from '../../wire/tcp-end.ts';
import { UdpPeer } from '../../wire/udp-peer.ts';
import { type FilterChange, FilterEdge } from '../filters/filter-edge.ts';
import { eventually } from '../stack-fixture.ts';

const GAME = 27_500;
const OTHER = 27_600;
const DNS = 53;
/** More packets than an edge counts by address in a second. */
const FLOOD = 10_000;

const DROP: Mitigation = {
  ref: 'mitigation:1',
  mode: 'enforce',
  protocol: 'udp',
  sourcePort: null,
  destinationPort: null,
  source: null,
  safelist: [],
  fragment: 'any',
  limit: null,
};

function attacked(target: string, ...mitigations: readonly Partial<Mitigation>[]): Policy {
  const rules = mitigations.map((change, index) => ({
    ...DROP,
    ref: `mitigation:${index + 1}`,
    ...change,
  }));
  return { ...filteredPolicy(target), mitigations: rules };
}

interface Field {
  readonly fixture: FilterEdge;
  readonly client: UdpPeer;
  readonly server: UdpPeer;
}

async function field(
  t: TestContext,
  label: string,
  change: FilterChange = {},
): Promise<Field | null> {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return null;
  const fixture = new FilterEdge(label, change);
  t.after(() => fixture.destroy());
  const client = new UdpPeer(fixture.internet.client);
  t.after(() => client.stop());
  const server = new UdpPeer(fixture.internet.server);
  t.after(() => server.stop());
  return { fixture, client, server };
}

describe('mitigations in the kernel', () => {
  for (const family of [4, 6] as const) {
    const to = SERVER[family];

    it(`IPv${family}: answers of reflectors are dropped and counted, players and the safelist are not`, async (t) => {
      const on = await field(t, `ampl${family}`);
      if (on === null) return;
      const { fixture, client, server } = on;
      const game = await server.open(to, GAME, '');
      const reflector = await client.open(CLIENT[family], DNS);
      const player = await client.open(CLIENT[family]);
      const reader = new NftablesDrops(() => fixture.internet.edge.within(openCounterReader));
      t.after(() => reader.close());
      await fixture.apply([attacked(to, { sourcePort: DNS })]);
      await reader.read();
      await reflector.send(to, GAME, 50);
      await player.exchange(to, GAME);
      assert.equal(await game.received(), 1);
      const { entries } = await reader.read();
      assert.deepEqual(
        entries.map(({ target, stage, reason, packets }) => [target, stage, reason, packets]),
        [[to, 'mitigations', 'mitigated', 50]],
      );
      await fixture.apply([attacked(to, { sourcePort: DNS, safelist: [CLIENT[family]] })]);
      await reflector.exchange(to, GAME);
      assert.equal(await game.received(), 2);
    });

    it(`IPv${family}: whoever the server has answered plays on while strangers are limited`, async (t) => {
      const on = await field(t, `limit${family}`);
      if (on === null) return;
      const { fixture, client, server } = on;
      const game = await server.open(to, GAME, '');
      await server.open(to, OTHER, '');
      await fixture.apply([attacked(to)]);
      const player = await client.open(CLIENT[family]);
      await player.exchange(to, GAME);
      const limit = { per: 'destination', pps: 100, unansweredOnly: true } as const;
      // This port does not answer, because an answer would validate the source.
      const silent = await server.open(to, GAME + 1);
      await fixture.apply([
        attacked(to, { limit, destinationPort: GAME + 1 }, { limit, destinationPort: GAME }),
      ]);
      const stranger = await client.open(CLIENT[family]);
      const begin = performance.now();
      await stranger.send(to, GAME + 1, 1000);
      await stranger.exchange(to, OTHER);
      const seconds = (performance.now() - begin) / 1000;
      const passed = await silent.received();
      assert.ok(passed >= 100 && passed <= 100 * (1 + seconds) + 1, `${passed} in ${seconds} s`);
      const before = await game.received();
      await player.send(to, GAME, 500);
      await player.exchange(to, GAME);
      assert.equal((await game.received()) - before, 501);
    });
  }

  it('limits each source by itself, and one that is slow never', async (t) => {
    const on = await field(t, 'limit-source');
    if (on === null) return;
    const { fixture, client, server } = on;
    const to = SERVER[4];
    const game = await server.open(to, GAME, '');
    await server.open(to, OTHER, '');
    const limit = { per: 'source', pps: 50, unansweredOnly: false } as const;
    await fixture.apply([attacked(to, { limit, destinationPort: GAME })]);
    const [loud, quiet] = [await client.open(CLIENT[4]), await client.open(CLIENT.others[0])];
    const begin = performance.now();
    await loud.send(to, GAME, 500);
    await loud.exchange(to, OTHER);
    const seconds = (performance.now() - begin) / 1000;
    const passed = await game.received();
    assert.ok(passed >= 50 && passed <= 50 * (1 + seconds) + 1, `${passed} in ${seconds} s`);
    await quiet.send(to, GAME, 40);
    await quiet.exchange(to, OTHER);
    assert.equal((await game.received()) - passed, 40);
  });

  it('limits each protocol by itself, so a flood of one excludes no new client of another', async (t) => {
    const on = await field(t, 'limit-any');
    if (on === null) return;
    const { fixture, client, server } = on;
    const to = SERVER[4];
    const game = await server.open(to, GAME, '');
    const limit = { per: 'destination', pps: 100, unansweredOnly: true } as const;
    await fixture.apply([attacked(to, { protocol: 'any', limit })]);
    fixture.noise('fin', to, GAME, 1000);
    const newcomer = await client.open(CLIENT[4]);
    await newcomer.send(to, GAME, 99);
    await newcomer.exchange(to, GAME);
    assert.equal(await game.received(), 100);
  });

  it('observing marks what would have been dropped, and drops nothing', async (t) => {
    const on = await field(t, 'observe');
    if (on === null) return;
    const { fixture, client, server } = on;
    const to = SERVER[4];
    const game = await server.open(to, GAME, '');
    await server.open(to, OTHER, '');
    const limit = { per: 'destination', pps: 5, unansweredOnly: false } as const;
    await fixture.apply([
      attacked(to, { mode: 'observe', sourcePort: DNS }, { mode: 'observe', limit }),
    ]);
    const reflector = await client.open(CLIENT[4], DNS);
    await reflector.send(to, GAME, 50);
    await reflector.exchange(to, OTHER);
    assert.equal(await game.received(), 50);
    const drops = new NftablesDrops(() => fixture.internet.edge.within(openCounterReader));
    t.after(() => drops.close());
    const reported = async () => (await drops.read()).entries;
    // Both mitigations would have dropped most of them.
    const [one, ...others] = await reported();
    assert.deepEqual(one, {
      target: to,
      stage: 'mitigations',
      reason: 'observed',
      by: 'nftables',
      packets: 51,
      bytes: one?.bytes,
    });
    assert.deepEqual(others, []);
    // Not every packet of a flood is counted by its address, but all of them are reported.
    await reflector.send(to, GAME, FLOOD);
    // The last of them may still wait for a processor.
    let flood = 0;
    await eventually('all are reported', async () => {
      flood += (await reported())[0]?.packets ?? 0;
      return flood === FLOOD;
    });
  });

  it('puts a SYN proxy before a port without disconnecting anybody, until it goes', async (t) => {
    const on = await field(t, 'syn-mitigation');
    if (on === null) return;
    const { fixture } = on;
    const { client, server } = fixture.internet;
    const to = SERVER[4];
    const under = (target: string): Policy => ({
      ...filteredPolicy(target),
      filters: [
        { ref: 'mitigation:9', type: 'tcp-syn-proxy', port: GAME, managed: true, safelist: [] },
      ],
    });
    await fixture.apply([filteredPolicy(to)]);
    await TcpEnd.serve(server, to, GAME);
    const player = await TcpEnd.connect(client, to, GAME);
    assert.equal(await player?.ask(), 'echo');
    await fixture.apply([under(to)]);
    assert.equal(await player?.ask(), 'echo');
    const newcomer = await TcpEnd.connect(client, to, GAME);
    assert.equal(await newcomer?.ask(), 'echo');
    assert.equal(fixture.proxiedSyns(), 1);
    const reached = fixture.countAt(server, `tcp dport ${GAME} tcp flags & (syn|ack) == syn`);
    fixture.noise('syn', to, GAME, 500);
    assert.equal(await newcomer?.ask(), 'echo');
    assert.equal(reached(), 0);
    // The proxy no longer translates for this client; connections from before it were never translated.
    await fixture.apply([filteredPolicy(to)]);
    assert.equal(await newcomer?.ask(), 'reset');
    assert.equal(await player?.ask(), 'echo');
  });

  for (const family of [4, 6] as const) {
    it(`IPv${family}: filters that an attack brought do not meet the safelist, those of the holder do`, async (t) => {
      // Only sources that were answered before pass a filter on UDP.
      const on = await field(t, `safe${family}`, { udp: { budgetPps: 0 } });
      if (on === null) return;
      const { fixture, client, server } = on;
      const to = SERVER[family];
      const safelist = [CLIENT[family], '192.0.2.0/30'];
      const brought = { ref: 'mitigation:7', managed: true, safelist } as const;
      const udp = { ...brought, type: 'udp-stateful', port: GAME } as const;
      const tcp = { ...brought, type: 'tcp-syn-proxy', port: GAME } as const;
      const game = await server.open(to, GAME, '');
      await server.open(to, OTHER, '');
      await TcpEnd.serve(fixture.internet.server, to, GAME);
      await fixture.apply([{ ...filteredPolicy(to), filters: [udp, tcp] }]);
      const [monitoring, stranger] = [
        await client.open(CLIENT[family]),
        await client.open(CLIENT.others[family === 4 ? 0 : 3]),
      ];
      await stranger.send(to, GAME, 20);
      await stranger.exchange(to, OTHER);
      await monitoring.send(to, GAME, 50);
      await monitoring.exchange(to, GAME);
      assert.equal(await game.received(), 51, 'of the safelist, and of nobody else');
      const payment = await TcpEnd.connect(fixture.internet.client, to, GAME);
      assert.equal(await payment?.ask(), 'echo');
      assert.equal(fixture.proxiedSyns(), 0);
      // The sender forges sources in IPv4 only.
      const forged = family === 4 ? 100 : 0;
      if (forged > 0) fixture.noise('syn', to, GAME, forged);
      assert.equal(await payment?.ask(), 'echo');
      assert.equal(fixture.proxiedSyns(), forged);
      // Filters that the holder applies cover all sources.
      const own = { ...udp, ref: 'filter:1', managed: false, safelist: [] };
      await fixture.apply([{ ...filteredPolicy(to), filters: [own, udp, tcp] }]);
      const before = await game.received();
      await (await client.open(CLIENT[family])).send(to, GAME, 20);
      await stranger.exchange(to, OTHER);
      assert.equal((await game.received()) - before, 0);
      // The attack is over: connections that did not pass through its proxy stay.
      await fixture.apply([{ ...filteredPolicy(to), filters: [own] }]);
      assert.equal(await payment?.ask(), 'echo');
    });
  }
});
