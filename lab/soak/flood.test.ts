import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import { Generator } from '../bench/generator/generator-process.ts';
import type { Plan } from '../bench/generator/plan.ts';
import { linkOf } from '../bench/generator/traffic.ts';
import { NGINX, startNginx, startTeeworlds, TEEWORLDS } from '../stack/game-servers.ts';
import { CLIENT, EDGE_DEVICE, SERVER } from '../stack/internet.ts';
import { require } from '../requirements.ts';
import { UdpPeer } from '../wire/udp-peer.ts';
import { filteredPolicy as filtered } from '@portcullis/dataplane/testing/policies.ts';
import { FilterEdge } from '../system/filters/filter-edge.ts';
import { eventually, reaches } from '../system/stack-fixture.ts';
import { inWords, type Load, QUEUED_MS, ServerLoad } from './server-load.ts';

/** A rate as fast as one core makes them: seconds of more than any small server takes. */
const FLOOD = 2_000_000;
/** Less of it where nothing stands between: the server takes each. */
const UNPROTECTED = 200_000;
const MAX_LEAK = 0.001;
const ANSWERED_MS = 3_000;
const to = SERVER[4];

describe('a flood from forged sources', () => {
  it('of SYNs does not reach nginx, which goes on serving', async (t) => {
    const fixture = prepare(t, 'synflood');
    if (fixture === null) return;
    const nginx = startNginx(fixture.internet.server);
    t.after(() => nginx.stop());
    const url = `http://${to}:${NGINX.port}/`;
    await eventually('nginx serves', async () => reaches(fixture.internet.client, url));
    const { server } = fixture.internet;
    const flood = floodOn(t, fixture, { tcpShare: 1, ports: [NGINX.port, NGINX.port] });
    const load = new ServerLoad(fixture.internet, nginx, 'Tcp');
    const without = await load.during(() => flood(UNPROTECTED));
    await fixture.apply([filtered(to, ['tcp-syn-proxy', NGINX.port])]);
    await eventually('nginx serves behind its proxy', async () =>
      reaches(fixture.internet.client, url),
    );
    const arrived = fixture.countAt(server, 'ip saddr 11.0.0.0/8 tcp flags syn / syn,ack');
    let served = { ok: 0, all: 0 };
    let sent = 0;
    const withEdge = await load.during(async () => {
      // Whoever asks, asks while it floods: it ends when everybody was answered.
      const serving = serveDuring(fixture, url).then((answers) => (served = answers));
      while (served.all === 0 || sent < FLOOD) sent += await flood(FLOOD / 4);
      await serving;
      return sent;
    });
    const leak = arrived() / sent;
    t.diagnostic(`${sent} SYNs, ${arrived()} arrived; nginx served ${served.ok} of ${served.all}`);
    say(t, without, withEdge);
    assert.ok(leak <= MAX_LEAK, `${leak} of the flood arrived`);
    assert.ok(served.all > 0 && served.ok === served.all);
    // Of SYNs without an end the process itself never hears: what they cost is its kernel's.
    assertRelieved(without, withEdge, ['packets', 'kernelNs']);
  });

  it('of UDP does not reach a game server, whose players play on', async (t) => {
    const fixture = prepare(t, 'udpflood');
    if (fixture === null) return;
    const { server } = fixture.internet;
    const game = startTeeworlds(server);
    t.after(() => game.stop());
    const player = await playerOf(t, fixture);
    await eventually('the game answers', async () => (await player.play(1)) === 1);
    const flood = floodOn(t, fixture, { tcpShare: 0, ports: [TEEWORLDS.port, TEEWORLDS.port] });
    const load = new ServerLoad(fixture.internet, game, 'Udp');
    await load.atRest(() => player.play(20));
    const without = await load.during(() => untilRead(flood(UNPROTECTED)));
    await fixture.apply([filtered(to, ['udp-stateful', TEEWORLDS.port])]);
    await eventually('the player is known', async () => (await player.play(1)) === 1);
    const arrived = fixture.countAt(server, 'ip saddr 11.0.0.0/8 udp dport 8303');
    const begin = performance.now();
    let played = 0;
    const rounds = 40;
    const withEdge = await load.during(async () => {
      const [sent] = await Promise.all([
        untilRead(flood(FLOOD)),
        player.play(rounds).then((answers) => (played = answers)),
      ]);
      return sent;
    });
    const seconds = (performance.now() - begin) / 1000;
    t.diagnostic(
      `${FLOOD} datagrams in ${seconds.toFixed(1)} s, ${arrived()} arrived, ${played} of ${rounds} answered`,
    );
    say(t, without, withEdge);
    // A machine too slow for a real flood still gets no more through than the budget of strangers.
    const budget = findFilter('udp-stateful')?.udp?.budgetPps ?? 0;
    const most = Math.max(MAX_LEAK * FLOOD, budget * (1 + seconds));
    assert.ok(arrived() <= most, `${arrived()} of ${FLOOD} arrived`);
    assert.equal(played, rounds, 'a player who was there before');
    assertRelieved(without, withEdge, ['packets', 'kernelNs', 'processNs']);
  });
});

function prepare(t: TestContext, label: string): FilterEdge | null {
  if (!require(t, ['root', 'netns', 'nft', 'bpf', 'ethtool', 'nginx', 'teeworlds'])) return null;
  const fixture = new FilterEdge(label);
  t.after(() => fixture.destroy());
  return fixture;
}

/** Sends so many packets from forged sources; answers how many the edge took. */
function floodOn(
  t: TestContext,
  { internet: { client, edge } }: FilterEdge,
  change: Pick<Plan, 'tcpShare' | 'ports'>,
): (packets: number) => Promise<number> {
  for (const [namespace, device] of [[client, 'eth0'] as const, [edge, EDGE_DEVICE] as const])
    namespace.run('ethtool', '-K', device, 'gro', 'on');
  const generator = new Generator(client, { niceness: 10 });
  t.after(() => generator.stop());
  const { ifindex, address: from } = linkOf(client, 'eth0');
  const plan: Plan = {
    family: 4,
    destination: to,
    destinations: 1,
    source: '11.0.0.0',
    sourceRandom: 0x00ff_ffff,
    sourcePorts: [1024, 65_535],
    from,
    to: linkOf(edge, EDGE_DEVICE).address,
    ...change,
  };
  return async (packets) => {
    const { taken } = await generator.send({ device: 'eth0', ifindex, plan, packets });
    return taken;
  };
}

const run = promisify(execFile);

async function serveDuring(fixture: FilterEdge, url: string): Promise<{ ok: number; all: number }> {
  let ok = 0;
  const all = 20;
  for (let at = 0; at < all; at++) {
    const [program, ...args] = fixture.internet.client.command(
      'curl',
      '-sf',
      '--max-time',
      '5',
      url,
    );
    const { stdout } = await run(program, args).catch(() => ({ stdout: '' }));
    if (stdout === 'served\n') ok++;
  }
  return { ok, all };
}

async function playerOf(t: TestContext, { internet }: FilterEdge) {
  const peer = new UdpPeer(internet.client);
  t.after(() => peer.stop());
  const end = await peer.open(CLIENT[4]);
  return {
    /** Speaks to the game so often; how often it answered. */
    play: async (times: number): Promise<number> => {
      const before = await end.received();
      for (let at = 0; at < times; at++) {
        await end.send(to, TEEWORLDS.port, 1, TEEWORLDS.hello);
        await wait(50);
      }
      // The last answers are on their way.
      const all = async (): Promise<boolean> => (await end.received()) - before >= times;
      await eventually('all is answered', all, ANSWERED_MS).catch(() => undefined);
      return (await end.received()) - before;
    },
  };
}

/** It reads what is still queued. */
async function untilRead(flood: Promise<number>): Promise<number> {
  const sent = await flood;
  await wait(QUEUED_MS);
  return sent;
}

function say(t: TestContext, without: Load, withEdge: Load): void {
  t.diagnostic(`a packet of the flood costs the server ${inWords(without)}, unprotected`);
  t.diagnostic(`and behind the edge ${inWords(withEdge)}`);
}

/**
 * The relief, at least: packets are counted, and a busy machine blurs no count. A packet
 * alone wakes its kernel and its process, and strangers within their budget come alone, many at once without the edge.
 */
const RELIEF: Load = { packets: 10, kernelNs: 4, processNs: 4 };

function assertRelieved(without: Load, withEdge: Load, kinds: readonly (keyof Load)[]): void {
  for (const kind of kinds) {
    const [before, after] = [without[kind], withEdge[kind]];
    assert.ok(before > 0, `nothing was measured: ${kind}`);
    assert.ok(after * RELIEF[kind] <= before, `${kind}: ${after} of ${before}`);
  }
}
