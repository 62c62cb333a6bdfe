import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AttackJournal } from '../floods/attack-journal.ts';
import { edgesCount } from '../floods/second-edge.ts';
import { createInternet, EDGE_DEVICE, type Internet, SERVER } from '../stack/internet.ts';
import { skipUnless } from '../requirements.ts';
import { ORGANISATION, type Stack, startStack } from '../stack/stack.ts';
import { rush } from '../wire/rush.ts';
import { UdpPeer } from '../wire/udp-peer.ts';
import { eventually } from '../system/stack-fixture.ts';

/** One whose threshold is above what its players send when they are in, one whose is far below, one of transfers. */
const ROOMY = { address: SERVER[4], pps: 2000 } as const;
const SMALL = { address: SERVER.neighbours[0], pps: 500 } as const;
const FILES = { address: '203.0.113.30', pps: 500 } as const;
const GAME = 27_500;
const FILES_PORT = 8080;
const PLAYERS = 100;
const LATE_PLAYERS = 30;
const LATE_MS = 4000;
const sourcesFrom = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `198.18.1.${first + index}`);
const RUSH = {
  port: GAME,
  sources: sourcesFrom(1, PLAYERS),
  joinWithinMs: 300,
  joinPackets: 12,
  turnsPerSecond: 10,
  seconds: 8,
} as const;
const TRANSFER_SECONDS = 4;
const MANY_TIMES = 3;
const ROUNDS = 4;
const PATIENCE_MS = 40_000;
const BULK = join(import.meta.dirname, '..', 'wire', 'bulk-process.ts');

const SINCE = 'since: "2026-01-01T00:00:00+00:00"';
const FLEET = `organisations:
  ${ORGANISATION}:
    name: Acme
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    thresholds: { pps: 10000000, mbps: 1000000, hold_seconds: 4 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, ${SINCE} }
    services:
${[ROOMY, SMALL, FILES]
  .map(
    ({ address, pps }, index) => `      - id: ${501 + index}
        name: at-${address}
        managed_filters: []
        thresholds: { pps: ${pps} }
        addresses: [{ ip: ${address}, ${SINCE} }]
`,
  )
  .join('')}    keys:
      - { name: lab, abilities: [firewall.read, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
`;

describe('much traffic of people who are answered', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool', 'postgres']),
}, () => {
  const undo: (() => Promise<void> | void)[] = [];
  let internet: Internet;
  let stack: Stack;
  let journal: AttackJournal;
  let server: UdpPeer;

  before(async () => {
    // So are the processes of the stack, which this one starts: others keep them waiting less.
    setPriority(-10);
    internet = createInternet('rush');
    undo.push(() => internet.destroy());
    internet.client.run('ip', 'route', 'add', 'local', '198.18.1.0/24', 'dev', 'lo');
    internet.server.run('ip', 'address', 'add', `${FILES.address}/24`, 'dev', 'eth0');
    stack = await startStack(internet, { fleet: FLEET });
    undo.push(() => stack.stop());
    await eventually('the edge counts', () => edgesCount(stack, 1), PATIENCE_MS);
    journal = await AttackJournal.open(stack);
    undo.push(() => journal.close());
    server = new UdpPeer(internet.server);
    undo.push(() => server.stop());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  const recordsOf = async (address: string) =>
    (await journal.read()).filter(({ subject }) => subject === address);

  it('players who all join at once, for a moment more than a threshold, are no attack', async (t) => {
    await server.open(ROOMY.address, GAME, '');
    const played = await rush(internet.client, { ...RUSH, server: ROOMY.address });
    const { peakPps, windowPps } = played;
    t.diagnostic(`${peakPps} packets/s in a quarter second, ${windowPps} in a second and a half`);
    assert.ok(peakPps > ROOMY.pps, 'the rush was one');
    assert.ok(windowPps < ROOMY.pps, 'the machine did not pile it up');
    await pause(1000);
    assert.deepEqual(await recordsOf(ROOMY.address), []);
    assert.ok(played.players.every(({ lost }) => lost === 0));
  });

  it('players who send twice a threshold for good are recorded, but all get in and nobody loses a turn', async (t) => {
    await server.open(SMALL.address, GAME, '');
    const plan = { ...RUSH, server: SMALL.address };
    const playing = rush(internet.client, plan);
    await pause(LATE_MS);
    const [standing] = await recordsOf(SMALL.address);
    assert.notEqual(standing?.mitigatedCommittedMs ?? null, null, 'mitigated before the late come');
    const late = await rush(internet.client, {
      ...plan,
      sources: sourcesFrom(PLAYERS + 1, LATE_PLAYERS),
      seconds: 3,
    });
    const { players: early, steadyPps } = await playing;
    const players = [...early, ...late.players];
    assert.ok(steadyPps >= 2 * SMALL.pps);
    const worst = Math.max(...players.map(({ joinedMs }) => joinedMs));
    const lost = players.reduce((sum, one) => sum + one.lost, 0);
    t.diagnostic(`in after ${worst} ms at most, ${lost} turns lost`);
    const [record, ...others] = await recordsOf(SMALL.address);
    assert.deepEqual([record?.type, others], ['udp_flood', []]);
    assert.equal(lost, 0);
    assert.ok(worst < 2000);
  });

  for (const [what, way] of [
    ['a download to the server', 'd'],
    ['an upload by the server', 'u'],
  ] as const) {
    it(`${what}, of many times a threshold in packets, is no attack`, async (t) => {
      const came = countInto(internet, way);
      const serving = internet.server.spawn(
        [process.execPath, BULK, 'serve', FILES.address, String(FILES_PORT)],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      t.after(() => serving.kill('SIGKILL'));
      await once(serving.stdout as Readable, 'data');
      const argv = ['load', FILES.address, String(FILES_PORT), way, String(TRANSFER_SECONDS)];
      // A machine that does other things too may let it be slow.
      for (let times = 0, round = 1; times < MANY_TIMES; round++) {
        assert.ok(round <= ROUNDS, `no more than ${times.toFixed(1)} times the threshold`);
        const before = came();
        const loading = internet.client.spawn([process.execPath, BULK, ...argv], {
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        await once(loading, 'exit');
        times = (came() - before) / TRANSFER_SECONDS / FILES.pps;
        t.diagnostic(`${times.toFixed(1)} times the threshold`);
      }
      await pause(1000);
      assert.deepEqual(await recordsOf(FILES.address), []);
      serving.kill('SIGKILL');
      await once(serving, 'exit');
    });
  }
});

/** Every packet by itself, as on a wire: counted before the edge judges it. */
function countInto({ client, edge, server }: Internet, name: string): () => number {
  for (const [where, devices] of [
    [client, ['eth0']],
    [edge, [EDGE_DEVICE, 'lan']],
    [server, ['eth0']],
  ] as const) {
    for (const device of devices)
      where.run('ethtool', '-K', device, 'tso', 'off', 'gso', 'off', 'gro', 'off');
  }
  const table = `counting_${name}`;
  edge.run(
    'nft',
    `add table inet ${table}
    add chain inet ${table} input { type filter hook prerouting priority -450; }
    add rule inet ${table} input ip daddr ${FILES.address} iifname "${EDGE_DEVICE}" counter`,
  );
  return () => {
    const listed = edge.run('nft', 'list', 'chain', 'inet', table, 'input');
    return Number(/counter packets (\d+)/.exec(listed)?.[1]);
  };
}
