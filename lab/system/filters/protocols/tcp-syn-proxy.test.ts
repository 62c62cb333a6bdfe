import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CONTAINER, HOST, SERVER } from '../../../stack/internet.ts';
import { require } from '../../../requirements.ts';
import { startServices } from '../../../stack/services.ts';
import { TcpEnd } from '../../../wire/tcp-end.ts';
import { filteredPolicy as filtered } from '@portcullis/dataplane/testing/policies.ts';
import { type FilterChange, FilterEdge } from '../filter-edge.ts';
import { eventually, reaches } from '../../stack-fixture.ts';

const GAME = 25_565;

function groundFor(t: TestContext, label: string, change: FilterChange = {}): FilterEdge | null {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return null;
  const fixture = new FilterEdge(label, change);
  t.after(() => fixture.destroy());
  return fixture;
}

describe('tcp-syn-proxy', () => {
  it('stands in front of a server behind the edge, on the edge host, and behind DNAT', async (t) => {
    const fixture = groundFor(t, 'syn');
    if (fixture === null) return;
    const services = startServices(fixture.internet);
    t.after(() => services.stop());
    const { client, edge } = fixture.internet;
    edge.spawn(['python3', '-m', 'http.server', '8000', '--bind', '::'], { stdio: 'ignore' });
    const ports = [
      [SERVER[4], 80],
      [SERVER[6], 80],
      [HOST[4], 8000],
      [HOST[6], 8000],
      [HOST[4], CONTAINER.publishedPort],
    ] as const;
    const url = (address: string, port: number): string =>
      `http://${address.includes(':') ? `[${address}]` : address}:${port}/`;
    for (const [address, port] of ports) {
      await eventually(`${address} serves`, async () => reaches(client, url(address, port)));
    }
    const byAddress = Map.groupBy(ports, ([address]) => address);
    await fixture.apply(
      [...byAddress].map(([address, of]) =>
        filtered(address, ...of.map(([, port]) => ['tcp-syn-proxy', port] as const)),
      ),
    );
    for (const [address, port] of ports) {
      assert.equal(reaches(client, url(address, port)), true, `${address} ${port}`);
    }
    // All of them passed through the proxy.
    assert.equal(fixture.proxiedSyns(), ports.length);
    assert.deepEqual(await fixture.dropped(), {});
  });

  for (const family of [4, 6] as const) {
    it(`IPv${family}: a client of a connection from before is informed that it is gone, and so is the server`, async (t) => {
      const fixture = groundFor(t, `reset${family}`);
      if (fixture === null) return;
      const { client, server } = fixture.internet;
      const to = SERVER[family];
      await fixture.apply([filtered(to)]);
      const echo = await TcpEnd.serve(server, to, GAME);
      const player = await TcpEnd.connect(client, to, GAME, 40_000);
      assert.equal(await player?.ask(), 'echo');
      await fixture.apply([filtered(to, ['tcp-syn-proxy', GAME])]);
      assert.equal(await player?.ask(), 'reset');
      const again = await TcpEnd.connect(client, to, GAME);
      assert.equal(await again?.ask(), 'echo');
      // It is unaffected while other ports get filters.
      await fixture.apply([filtered(to, ['tcp-syn-proxy', GAME], ['tcp-syn-proxy', GAME + 1])]);
      assert.equal(await again?.ask(), 'echo');
      assert.deepEqual(await fixture.dropped(), {});
      assert.equal(fixture.proxiedSyns(), 1);
      // A SYN from the old port is a new client, and the server learns by a reset that the old connection is gone.
      await TcpEnd.connect(client, to, GAME, 40_000);
      assert.equal(await echo.next(), 'reset');
      assert.deepEqual(await fixture.keys(`reset_client${family}`), []);
      // Without the proxy, sequence numbers of its connections are no longer translated.
      await fixture.apply([filtered(to)]);
      assert.equal(await again?.ask(), 'reset');
      const direct = await TcpEnd.connect(client, to, GAME);
      assert.equal(await direct?.ask(), 'echo');
      assert.equal(await direct?.ask(), 'echo');
    });
  }

  it('keeps a flood of forged SYNs from the server, which goes on serving', async (t) => {
    const fixture = groundFor(t, 'flood');
    if (fixture === null) return;
    const { client, server } = fixture.internet;
    await TcpEnd.serve(server, SERVER[4], GAME);
    await fixture.apply([filtered(SERVER[4], ['tcp-syn-proxy', GAME])]);
    const arrived = fixture.countAt(server, `tcp dport ${GAME} tcp flags & (syn|ack) == syn`);
    fixture.noise('syn', SERVER[4], GAME, 50_000);
    const player = await TcpEnd.connect(client, SERVER[4], GAME);
    assert.equal(await player?.ask(), 'echo');
    assert.equal(arrived(), 1, 'only the player');
    assert.equal(fixture.proxiedSyns(), 50_001);
  });

  it('counts what claims a handshake that never was', async (t) => {
    const fixture = groundFor(t, 'cookie');
    if (fixture === null) return;
    const { client, server } = fixture.internet;
    await TcpEnd.serve(server, SERVER[4], GAME);
    await fixture.apply([filtered(SERVER[4], ['tcp-syn-proxy', GAME])]);
    const arrived = fixture.countAt(server, `ip saddr 10.0.0.0/8 tcp dport ${GAME}`);
    fixture.noise('ack', SERVER[4], GAME, 500);
    fixture.noise('fin', SERVER[4], GAME, 50);
    const player = await TcpEnd.connect(client, SERVER[4], GAME);
    assert.equal(await player?.ask(), 'echo');
    assert.equal(arrived(), 0);
    assert.deepEqual(await fixture.dropped(), { [`${SERVER[4]} ${GAME} syn-proxy-invalid`]: 550 });
  });

  it('limits how many connections a source opens, and how fast', async (t) => {
    const fixture = groundFor(t, 'limits', {
      tcp: { connections: { perSecond: 5, concurrent: 3 } },
    });
    if (fixture === null) return;
    const { client, server } = fixture.internet;
    await TcpEnd.serve(server, SERVER[4], GAME);
    await fixture.apply([filtered(SERVER[4], ['tcp-syn-proxy', GAME])]);
    const held: (TcpEnd | null)[] = [];
    for (let count = 0; count < 3; count++) {
      held.push(await TcpEnd.connect(client, SERVER[4], GAME));
      assert.equal(await held.at(-1)?.ask(), 'echo');
    }
    // The proxy has answered its handshake; the server never receives it.
    const fourth = await TcpEnd.connect(client, SERVER[4], GAME);
    assert.equal(await fourth?.ask(), 'silent');
    const limited = await fixture.dropped();
    assert.ok((limited[`${SERVER[4]} ${GAME} connection-limit`] ?? 0) > 0, JSON.stringify(limited));
    // There is capacity again when other connections have ended.
    for (const one of [...held, fourth]) await one?.close();
    const next = await TcpEnd.connect(client, SERVER[4], GAME);
    assert.equal(await next?.ask(), 'echo');
    await next?.close();
    await eventually('who has no connection is forgotten', async () => {
      return (await fixture.keys('connections4')).length === 0;
    });

    // One process opens all of them, so that they arrive together also on a loaded machine.
    await TcpEnd.connectMany(client, SERVER[4], GAME, 12);
    const many = await fixture.dropped();
    assert.ok((many[`${SERVER[4]} ${GAME} connection-rate`] ?? 0) > 0, JSON.stringify(many));
  });

  it('limits how many connections all sources open', async (t) => {
    const fixture = groundFor(t, 'queue');
    if (fixture === null) return;
    const { client, server } = fixture.internet;
    await TcpEnd.serve(server, SERVER[4], GAME);
    await fixture.apply([filtered(SERVER[4], ['tcp-syn-proxy', GAME])]);
    const player = await TcpEnd.connect(client, SERVER[4], GAME);
    assert.equal(await player?.ask(), 'echo');
    await fixture.apply([filtered(SERVER[4], ['tcp-syn-proxy', GAME, { newPerSecond: 1 }])]);
    assert.equal(await player?.ask(), 'echo', 'it has not to reconnect');
    await TcpEnd.connectMany(client, SERVER[4], GAME, 12);
    const queued = await fixture.dropped();
    assert.ok((queued[`${SERVER[4]} ${GAME} new-connections`] ?? 0) > 0, JSON.stringify(queued));
    await player?.close();
  });
});
