import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { UdpFilter } from '@portcullis/core/filters/filter.ts';
import { parseSet } from '@portcullis/dataplane/nftables/elements/kernel-set.ts';
import type { EdgeLimits } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { CLIENT, CONTAINER, HOST, SERVER } from '../../stack/internet.ts';
import { require } from '../../requirements.ts';
import { UdpPeer } from '../../wire/udp-peer.ts';
import { filteredPolicy as filtered } from '@portcullis/dataplane/testing/policies.ts';
import { FilterEdge } from './filter-edge.ts';

const GAME = 27_500;
const OTHER = 27_600;
const PREFIX = { 4: '203.0.113.0/24', 6: '2001:db8:5::/64' } as const;

interface Field {
  readonly fixture: FilterEdge;
  readonly client: UdpPeer;
  readonly server: UdpPeer;
}

async function fieldFor(
  t: TestContext,
  label: string,
  change: Partial<UdpFilter> = {},
  limits: Partial<EdgeLimits> = {},
): Promise<Field | null> {
  if (!require(t, ['root', 'netns', 'nft', 'conntrack', 'python3'])) return null;
  const fixture = new FilterEdge(label, { udp: change }, limits);
  t.after(() => fixture.destroy());
  const client = new UdpPeer(fixture.internet.client);
  t.after(() => client.stop());
  const server = new UdpPeer(fixture.internet.server);
  t.after(() => server.stop());
  return { fixture, client, server };
}

const QUERY = `ffffffff54${Buffer.from('Source Engine Query\0').toString('hex')}`;
const CHALLENGE = 'ffffffff41a1b2c3d4';
const ANSWER = 'ffffffff4911446973707461746368';
/** A filter with signatures, as those of games will be. */
const SOURCE_LIKE: Partial<UdpFilter> = {
  greetings: [{ bytes: [{ offset: 0, hex: QUERY }], minLength: 25, maxLength: 29 }],
  replies: [
    { bytes: [{ offset: 0, hex: 'ffffffff49' }], minLength: 6, maxLength: 1400 },
    { bytes: [{ offset: 0, hex: 'ffffffff44' }], minLength: 6, maxLength: 1400 },
  ],
};

describe('filters', () => {
  it('let only greetings pass of whoever is unvalidated, and believe only positive replies', async (t) => {
    const field = await fieldFor(t, 'greet', SOURCE_LIKE);
    if (field === null) return;
    const { fixture, client, server } = field;
    await fixture.apply([filtered(SERVER[4], ['udp-stateful', GAME])]);
    await server.open(SERVER[4], OTHER, '');
    const challenging = await server.open(SERVER[4], GAME, CHALLENGE);
    const player = await client.open(CLIENT[4]);
    const settled = (): Promise<void> => player.exchange(SERVER[4], OTHER);
    const bad = [
      'ff',
      'ffffffff55',
      QUERY.replace('54', '55'),
      QUERY.slice(0, -2),
      `${QUERY}0102030405`,
      QUERY.replace(/00$/, '01'),
    ];
    for (const data of bad) await player.send(SERVER[4], GAME, 1, data);
    await settled();
    assert.equal(await challenging.received(), 0);
    assert.deepEqual(await fixture.dropped(), { [`${SERVER[4]} ${GAME} no-greeting`]: bad.length });
    await player.send(SERVER[4], GAME, 1, QUERY);
    await settled();
    assert.equal(await challenging.received(), 1);
    assert.deepEqual(await fixture.keys('validated4'), [], 'a challenge is no welcome');

    const other = SERVER.neighbours[0];
    await fixture.apply([
      filtered(SERVER[4], ['udp-stateful', GAME]),
      filtered(other, ['udp-stateful', GAME]),
    ]);
    const answering = await server.open(other, GAME, ANSWER);
    await player.send(other, GAME, 1, QUERY);
    await settled();
    assert.equal((await fixture.keys('validated4')).length, 1);
    for (const data of bad) await player.send(other, GAME, 1, data);
    await settled();
    assert.equal(await answering.received(), 1 + bad.length);
  });

  for (const family of [4, 6] as const) {
    const to = SERVER[family];
    const neighbour = family === 4 ? SERVER.neighbours[0] : SERVER.neighbours[1];

    it(`IPv${family}: of a prefix hold for its members, not for an address with a policy of its own`, async (t) => {
      const field = await fieldFor(t, `prefix${family}`, { budgetPps: 5 });
      if (field === null) return;
      const { fixture, client, server } = field;
      await fixture.apply([filtered(PREFIX[family], ['udp-stateful', GAME]), filtered(neighbour)]);
      await server.open(to, GAME, '');
      const free = await server.open(neighbour, GAME, '');
      const player = await client.open(CLIENT[family]);
      await player.exchange(to, GAME);
      assert.equal((await fixture.keys(`validated${family}`)).length, 1);
      await player.send(to, GAME, 200);
      await player.exchange(to, GAME);

      await player.send(neighbour, GAME, 200);
      await player.exchange(neighbour, GAME);
      assert.equal(await free.received(), 201);
      assert.equal((await fixture.keys(`validated${family}`)).length, 1, 'nothing to learn there');
      assert.deepEqual(await fixture.dropped(), {});

      const silent = await server.open(to, GAME + 1);
      await fixture.apply([filtered(PREFIX[family], ['udp-stateful', GAME + 1])]);
      const stranger = await client.open(CLIENT[family]);
      await stranger.send(to, GAME + 1, 100);
      await stranger.exchange(neighbour, GAME);
      const passed = await silent.received();
      assert.ok(passed >= 5 && passed < 50, `${passed}`);
    });

    it(`IPv${family}: keep a rate and nothing else where replies go another way`, async (t) => {
      const field = await fieldFor(t, `in${family}`, {
        rates: { unvalidatedPps: 1, validatedPps: 50 },
      });
      if (field === null) return;
      const { fixture, client, server } = field;
      await fixture.apply([filtered(to, ['udp-stateful', GAME], ['tcp-syn-proxy', 80])], 'inbound');
      await server.open(to, OTHER, '');
      const silent = await server.open(to, GAME);
      const player = await client.open(CLIENT[family]);
      const begin = performance.now();
      await player.send(to, GAME, 300);
      await player.exchange(to, OTHER);
      const most = 50 * (2 + (performance.now() - begin) / 1000);
      const passed = await silent.received();
      assert.ok(passed >= 50 && passed <= most, `${passed}`);
      assert.deepEqual(await fixture.dropped(), { [`${to} ${GAME} validated-rate`]: 300 - passed });
    });
  }

  it('forget validated sources when the port gets other filters, and keep those of other ports', async (t) => {
    const field = await fieldFor(t, 'forget');
    if (field === null) return;
    const { fixture, client, server } = field;
    const other = SERVER.neighbours[0];
    const policies = [
      filtered(SERVER[4], ['udp-stateful', GAME]),
      filtered(other, ['udp-stateful', GAME]),
    ];
    await fixture.apply(policies);
    const player = await client.open(CLIENT[4]);
    for (const address of [SERVER[4], other]) {
      await server.open(address, GAME, '');
      await player.exchange(address, GAME);
    }
    const flows = (): string[] =>
      fixture.connections().filter((line) => line.includes(`dport=${GAME}`));
    assert.equal((await fixture.keys('validated4')).length, 2);
    assert.equal(flows().length, 2);
    await fixture.apply([filtered(SERVER[4]), filtered(other, ['udp-stateful', GAME])]);
    const [kept = ''] = await fixture.keys('validated4');
    assert.ok(kept.includes(other));
    assert.equal((await fixture.keys('validated4')).length, 1);
    assert.equal(flows().length, 1);
    await fixture.apply(policies);
    assert.equal(
      (await fixture.keys('validated4')).length,
      1,
      'nobody is validated by having been',
    );
  });

  it('keep validated players after the table is rewritten', async (t) => {
    const field = await fieldFor(t, 'whole', { budgetPps: 5 });
    if (field === null) return;
    const { fixture, client, server } = field;
    const policies = ([4, 6] as const).map((family) =>
      filtered(SERVER[family], ['udp-stateful', GAME]),
    );
    await fixture.apply(policies);
    const players = await Promise.all(
      ([4, 6] as const).map(async (family) => {
        const echo = await server.open(SERVER[family], GAME, '');
        const player = await client.open(CLIENT[family]);
        await player.exchange(SERVER[family], GAME);
        return { player, echo, to: SERVER[family] };
      }),
    );
    fixture.restart();
    await fixture.apply(policies);
    for (const { player, echo, to } of players) {
      await player.send(to, GAME, 100);
      await player.exchange(to, GAME);
      assert.equal(await echo.received(), 102);
    }
  });

  it('keep validated sources with their timeouts when the table is rewritten', async (t) => {
    const field = await fieldFor(t, 'many');
    if (field === null) return;
    const { fixture } = field;
    const policies = [filtered(SERVER[4], ['udp-stateful', GAME])];
    await fixture.apply(policies);
    const key = (n: number): string => `${forged(n)} . 1 . ${SERVER[4]} . ${GAME}`;
    await fixture.fill('validated4', 40_000, (n) => `${key(n)} timeout 10m`);
    await fixture.fill('denied_flows4', 100, (n) => `${key(n)} . udp timeout 2h`);
    const seconds = async (set: string): Promise<number[]> =>
      parseSet(await fixture.driver.list(set)).map(({ expires }) => expires ?? 0);
    fixture.restart();
    await fixture.apply(policies);
    const [validated, denied] = [await seconds('validated4'), await seconds('denied_flows4')];
    // While the kernel enlarges a hash table, a listing may repeat or omit some elements.
    assert.ok(validated.length >= 39_000, `${validated.length}`);
    assert.ok(validated.every((left) => left > 300 && left <= 600));
    assert.equal(denied.length, 100);
    assert.ok(denied.every((left) => left > 6_900 && left <= 7_200));
  });

  it('learn from a server on the edge host, and from one behind DNAT by its public address', async (t) => {
    const field = await fieldFor(t, 'where', { budgetPps: 5 });
    if (field === null) return;
    const { fixture, client } = field;
    const { edge, container } = fixture.internet;
    const published = `ip daddr ${HOST[4]} udp dport ${OTHER} dnat to ${CONTAINER.address}:${GAME}`;
    edge.run('nft', `add rule ip dockerlike prerouting ${published}`);
    const [onHost, inside] = [new UdpPeer(edge), new UdpPeer(container)];
    t.after(async () => {
      await onHost.stop();
      await inside.stop();
    });
    await fixture.apply([
      filtered(HOST[4], ['udp-stateful', GAME], ['udp-stateful', OTHER]),
      filtered(HOST[6], ['udp-stateful', GAME]),
    ]);
    const ends = [
      { to: HOST[4], port: GAME, end: await onHost.open(HOST[4], GAME, '') },
      { to: HOST[6], port: GAME, end: await onHost.open(HOST[6], GAME, '') },
      { to: HOST[4], port: OTHER, end: await inside.open(CONTAINER.address, GAME, '') },
    ];
    for (const { to, port, end } of ends) {
      const player = await client.open(to === HOST[6] ? CLIENT[6] : CLIENT[4]);
      await player.exchange(to, port);
      await player.send(to, port, 100);
      await player.exchange(to, port);
      assert.equal(await end.received(), 102, `${to} ${port}`);
    }
    const keys = [...(await fixture.keys('validated4')), ...(await fixture.keys('validated6'))];
    assert.deepEqual(
      keys.map((key) => key.split(' ').slice(2).join(' ')).toSorted(),
      ends.map(({ to, port }) => `${to} ${port}`).toSorted(),
    );
    assert.deepEqual(await fixture.dropped(), {});
  });

  it('never drop a validated player because a meter or the state is full', async (t) => {
    const room = 1000;
    const field = await fieldFor(t, 'full', { budgetPps: 50 }, { validatedSources: room });
    if (field === null) return;
    const { fixture, client, server } = field;
    await fixture.apply([filtered(SERVER[4], ['udp-stateful', GAME])]);
    const echo = await server.open(SERVER[4], GAME, '');
    const player = await client.open(CLIENT[4]);
    await player.exchange(SERVER[4], GAME);
    await fixture.fill('validated4', room - 1, (n) => `${forged(n)} . 1 . ${SERVER[4]} . ${GAME}`);
    await fixture.fill('validated_rate4', 65_535, (n) => `${forged(n)} . ${SERVER[4]} . ${GAME}`);
    await player.send(SERVER[4], GAME, 300);
    await player.exchange(SERVER[4], GAME);
    assert.equal(await echo.received(), 302);
    // The set is full: a new player is limited as an unvalidated source until an element expires.
    const newcomer = await client.open(CLIENT[4]);
    await newcomer.exchange(SERVER[4], GAME);
    const keys = await fixture.keys('validated4');
    assert.equal(keys.length, room);
    assert.equal(keys.filter((key) => key.startsWith(`${CLIENT[4]} `)).length, 1);
  });
});

function forged(n: number): string {
  return `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
}
