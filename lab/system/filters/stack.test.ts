import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, HOST, SERVER } from '../../stack/internet.ts';
import { sysctl } from '../../stack/netns.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { TcpEnd } from '../../wire/tcp-end.ts';
import { UdpPeer } from '../../wire/udp-peer.ts';
import { startStackFixture, eventually, type StackFixture, whyNot } from '../stack-fixture.ts';

const GAME = 27_500;
const WEB = 8000;
const PLAYED = 27_700;
/** Two heartbeats of the edge, with a margin for a slow machine. */
const REPORTED_MS = 45_000;
const MANAGED = 28_015;
const SOURCE = 27_900;
/** A2S_PLAYER with a challenge, and an answer to it. */
const QUERY = 'ffffffff55a1b2c3d4';
const PLAYERS = 'ffffffff4400';

interface Drop {
  readonly reason: string;
  readonly by: string;
}

let fixture: StackFixture;

describe('filters from the interface to the wire', { skip: whyNot() }, () => {
  before(async () => {
    // Filters that a service manages, in addition to those that callers apply.
    const managed = `managed_filters: [{ type: udp-stateful, ports: "${MANAGED}" }]`;
    const fleet = defaultFleet().replace('name: edge-host', `name: edge-host\n        ${managed}`);
    fixture = await startStackFixture('filters', { fleet });
  });
  after(() => fixture.stop());

  it('udp-stateful slows strangers, and the holder of the address sees why', async () => {
    const { internet, stack } = fixture;
    await stack.api.createFilter(SERVER[4], 'udp-stateful', String(GAME));
    const server = new UdpPeer(internet.server);
    const client = new UdpPeer(internet.client);
    try {
      const silent = await server.open(SERVER[4], GAME);
      await server.open(SERVER[4], GAME + 1, '');
      const stranger = await client.open(CLIENT[4]);
      await stranger.send(SERVER[4], GAME, 300);
      await stranger.exchange(SERVER[4], GAME + 1);
      const passed = await silent.received();
      assert.ok(passed >= 20 && passed < 300, `${passed}`);
      await eventually(
        'the drops are reported',
        async () => {
          const { body } = await stack.api.call('GET', `/api/x1/firewall/ips/${SERVER[4]}/drops`);
          const text = JSON.stringify(body);
          return text.includes('"unvalidated-rate"') && text.includes(String(300 - passed));
        },
        REPORTED_MS,
      );
    } finally {
      await client.stop();
      await server.stop();
    }
  });

  it('a filter that comes stops players who play, and takes them when they connect again', async (t) => {
    const { internet, stack } = fixture;
    const port = SOURCE + 10;
    const server = new UdpPeer(internet.server);
    const client = new UdpPeer(internet.client);
    try {
      const game = await server.open(SERVER[4], port, PLAYERS);
      await server.open(SERVER[4], port + 1, '');
      const player = await client.open(CLIENT[4]);
      const played = async (): Promise<number> => {
        const before = await game.received();
        await player.send(SERVER[4], port, 20);
        await player.exchange(SERVER[4], port + 1);
        return (await game.received()) - before;
      };
      assert.equal(await played(), 20);
      const begin = performance.now();
      await stack.api.createFilter(SERVER[4], 'source', String(port));
      const liveMs = performance.now() - begin;
      assert.equal(await played(), 0, 'live, and the old flow goes on');
      const again = performance.now();
      const before = await game.received();
      await player.send(SERVER[4], port, 1, QUERY);
      await eventually('it is answered', async () => (await game.received()) === before + 1);
      await eventually('the player plays', async () => {
        await player.send(SERVER[4], port, 1, QUERY);
        return (await played()) >= 20;
      });
      const playsMs = performance.now() - again;
      t.diagnostic(`live in ${Math.round(liveMs)} ms, plays again in ${Math.round(playsMs)} ms`);
    } finally {
      await client.stop();
      await server.stop();
    }
  });

  it('source drops before nftables what is no greeting, and passes players, also when the agent starts again', async () => {
    const { internet, stack } = fixture;
    await stack.api.createFilter(SERVER[4], 'source', String(SOURCE));
    const server = new UdpPeer(internet.server);
    const client = new UdpPeer(internet.client);
    try {
      const game = await server.open(SERVER[4], SOURCE, PLAYERS);
      await server.open(SERVER[4], SOURCE + 1, '');
      const [player, stranger] = [await client.open(CLIENT[4]), await client.open(CLIENT[4])];
      await player.send(SERVER[4], SOURCE, 1, QUERY);
      await eventually('it is answered', async () => (await game.received()) === 1);
      const flood = async (): Promise<void> => {
        const before = await game.received();
        await player.send(SERVER[4], SOURCE, 50);
        await stranger.send(SERVER[4], SOURCE, 500);
        await player.exchange(SERVER[4], SOURCE + 1);
        await stranger.exchange(SERVER[4], SOURCE + 1);
        assert.equal((await game.received()) - before, 50);
      };
      await flood();
      await eventually(
        'the drops are reported',
        async () => {
          const { body } = await stack.api.call('GET', `/api/x1/firewall/ips/${SERVER[4]}/drops`);
          const { totals } = (body as { data: { totals: readonly Drop[] } }).data;
          return totals.some(({ reason, by }) => reason === 'no-greeting' && by === 'xdp');
        },
        REPORTED_MS,
      );
      await killAgent();
      await flood();
    } finally {
      await client.stop();
      await server.stop();
    }
  });

  it('players are validated again after another process flushed everything', async () => {
    const { internet, stack } = fixture;
    await stack.api.createFilter(SERVER[4], 'udp-stateful', String(PLAYED));
    const server = new UdpPeer(internet.server);
    const client = new UdpPeer(internet.client);
    try {
      await server.open(SERVER[4], PLAYED, '');
      const player = await client.open(CLIENT[4]);
      await player.exchange(SERVER[4], PLAYED);
      internet.edge.run('nft', 'flush', 'ruleset');
      await eventually('the table is back', async () => validated() !== null);
      await eventually(
        'the player is validated again',
        async () => {
          await player.exchange(SERVER[4], PLAYED);
          return validated()?.includes(`${SERVER[4]} . ${PLAYED}`) === true;
        },
        REPORTED_MS,
      );
    } finally {
      await client.stop();
      await server.stop();
    }
  });

  it('filters that a service manages are enforced without a request', async () => {
    const { internet } = fixture;
    const [host, client] = [new UdpPeer(internet.edge), new UdpPeer(internet.client)];
    try {
      for (const address of [HOST[4], HOST[6]]) {
        const silent = await host.open(address, MANAGED);
        await host.open(address, MANAGED + 1, '');
        const stranger = await client.open(address === HOST[4] ? CLIENT[4] : CLIENT[6]);
        await stranger.send(address, MANAGED, 200);
        await stranger.exchange(address, MANAGED + 1);
        const passed = await silent.received();
        assert.ok(passed >= 20 && passed < 200, `${passed} to ${address}`);
      }
    } finally {
      await client.stop();
      await host.stop();
    }
  });

  it('tcp-syn-proxy resets existing connections and uses the TCP options of the real server', async () => {
    const { internet, stack } = fixture;
    sysctl(internet.server, 'net.ipv4.tcp_timestamps', 0);
    sysctl(internet.server, 'net.ipv4.tcp_sack', 0);
    await TcpEnd.serve(internet.server, SERVER[4], WEB);
    const player = await TcpEnd.connect(internet.client, SERVER[4], WEB);
    assert.equal(await player?.ask(), 'echo');
    await stack.api.createFilter(SERVER[4], 'tcp-syn-proxy', String(WEB));
    assert.equal(await player?.ask(), 'reset');
    await eventually('the proxy knows the server', async () => {
      const chains = internet.edge.run('nft', 'list', 'table', 'inet', 'portcullis');
      return /synproxy mss 1460 wscale \d+\s*$/m.test(chains);
    });
    const again = await TcpEnd.connect(internet.client, SERVER[4], WEB);
    assert.equal(await again?.ask(), 'echo');
    const loose = internet.edge.run('sysctl', '-n', 'net.netfilter.nf_conntrack_tcp_loose');
    assert.equal(loose.trim(), '0');
  });
});

/** Resolves when another agent runs. */
async function killAgent(): Promise<void> {
  const { stack } = fixture;
  const pid = stack.pidOf('edge/main.ts');
  process.kill(pid, 'SIGKILL');
  await eventually('there is another agent', async () => {
    try {
      return stack.pidOf('edge/main.ts') !== pid;
    } catch {
      return false;
    }
  });
}

/** Null if there is no table. */
function validated(): string | null {
  try {
    return fixture.internet.edge.run('nft', 'list', 'set', 'inet', 'portcullis', 'validated4');
  } catch {
    return null;
  }
}
