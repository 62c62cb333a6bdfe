import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { linkOf } from '../../bench/generator/traffic.ts';
import { isCutOff } from '../../floods/cut-off.ts';
import { sendFloods } from '../../floods/flood.ts';
import { edgeStatus } from '../../stack/edge-status.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { ORGANISATION } from '../../stack/stack.ts';
import { startStackFixture, eventually, type StackFixture, whyNot } from '../stack-fixture.ts';

const FLEET = `organisations:
  ${ORGANISATION}:
    name: Acme
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    thresholds: { pps: 4000, mbps: 1000, hold_seconds: 4 }
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
`;
const target = SERVER[4];
/** An address that no host behind the edge has. */
const NEIGHBOUR = '203.0.113.77';
const FLOOD_PPS = 12_000;
/** For which a flood goes on once nothing of it arrives. */
const HELD_MS = 3_000;
/** Times are in whole seconds, and a loaded machine reads counters late. */
const DATED_MS = 3_000;
const ENDLESS_SECONDS = 120;

interface Attacks {
  readonly data: readonly {
    readonly id: number;
    readonly attack_type: string;
    readonly started_at: string;
    readonly mitigated_at: string | null;
    readonly ended_at: string | null;
  }[];
}

let fixture: StackFixture;

describe('a control plane that hangs during a flood', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('hanging', { fleet: FLEET });
  });
  after(() => fixture.stop());

  it('is done without by the edge, and has one record of it when it is back', async (t) => {
    const { stack } = fixture;
    const arrived = countAtServer();
    await eventually('the edge counts', async () => {
      return (await edgeStatus(stack)).report?.counters === 'xdp';
    });
    const control = stack.pidOf('control/main.ts');
    // Its sockets stay open, so only a caller that waits for an answer notices.
    process.kill(control, 'SIGSTOP');
    const over = new AbortController();
    let report: Awaited<ReturnType<typeof flood>>;
    try {
      // However long it takes until the edge acts: a busy machine is slow to.
      const flooding = flood(FLOOD_PPS, ENDLESS_SECONDS, target, { enough: over.signal });
      flooding.catch(() => undefined);
      const { client } = fixture.internet;
      await eventually('nothing arrives any more', () => isCutOff(client, 'eth0', arrived));
      const leaked = arrived();
      await setTimeout(HELD_MS);
      over.abort();
      report = await flooding;
      t.diagnostic(`${leaked} of ${report.packets} arrived`);
      assert.equal(arrived(), leaked);
    } finally {
      over.abort();
      process.kill(control, 'SIGKILL');
    }
    let attacks: Attacks['data'] = [];
    await eventually(
      'it has a record that ended',
      async () => {
        attacks = await recorded();
        return attacks.length > 0 && attacks.every((one) => one.ended_at !== null);
      },
      90_000,
    );
    assert.deepEqual(
      attacks.map(({ attack_type }) => attack_type),
      ['dns_amplification'],
    );
    const [attack] = attacks;
    const startedMs = Date.parse(attack?.started_at ?? '') - report.beganAtMs;
    const lateMs = Date.parse(attack?.mitigated_at ?? '') - report.beganAtMs;
    t.diagnostic(`started ${startedMs} ms off, mitigated after ${lateMs} ms`);
    assert.ok(Math.abs(startedMs) <= DATED_MS, `started ${startedMs} ms off`);
    assert.ok(lateMs < report.endedAtMs - report.beganAtMs, `mitigated after ${lateMs} ms`);
    await eventually(
      'what the edge did is withdrawn',
      async () => {
        const first = arrived();
        await flood(100, 1);
        return arrived() > first;
      },
      60_000,
    );
    assert.equal((await recorded()).length, 1);
  });

  it('misses no flood, however soon it is back: it was killed before it knew of it', async (t) => {
    const { stack } = fixture;
    const flooding = flood(8_000, 2.5, NEIGHBOUR);
    await setTimeout(350);
    process.kill(stack.pidOf('control/main.ts'), 'SIGKILL');
    const report = await flooding;
    let attacks: Attacks['data'] = [];
    await eventually(
      'it has a record that ended',
      async () => {
        attacks = await recorded(NEIGHBOUR);
        return attacks.length > 0 && attacks.every((one) => one.ended_at !== null);
      },
      60_000,
    );
    // What control sees after its restart is a row of its own.
    attacks = attacks.toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1));
    const startedMs = Date.parse(attacks[0]?.started_at ?? '') - report.beganAtMs;
    const endedMs = Date.parse(attacks.at(-1)?.ended_at ?? '') - report.beganAtMs;
    t.diagnostic(`started ${startedMs} ms off, ended after ${endedMs} ms`);
    assert.ok(Math.abs(startedMs) <= DATED_MS, `started ${startedMs} ms off`);
    assert.ok(endedMs > startedMs && endedMs <= 10_000, `ended after ${endedMs} ms`);
  });

  it('is not replaced by an edge against an attack that was cancelled', async () => {
    const { stack } = fixture;
    const arrived = countAtServer('cancelled');
    // No short timeout: a loaded machine is slow to cancel.
    const over = new AbortController();
    const flooding = flood(FLOOD_PPS, ENDLESS_SECONDS, target, { calledOff: over.signal });
    flooding.catch(() => undefined);
    let id = 0;
    await eventually('it is recorded', async () => {
      const going = (await recorded()).find(({ ended_at: at }) => at === null);
      id = going?.id ?? 0;
      return going !== undefined;
    });
    await stack.api.cancelMitigations(id);
    await eventually('it is withdrawn', async () => {
      const first = arrived();
      await setTimeout(400);
      return arrived() > first;
    });
    const control = stack.pidOf('control/main.ts');
    process.kill(control, 'SIGSTOP');
    try {
      // Twice the delay after which an edge acts.
      await setTimeout(6_000);
      const first = arrived();
      await eventually('it still arrives', async () => arrived() > first);
    } finally {
      process.kill(control, 'SIGCONT');
      over.abort();
      await flooding.catch(() => undefined);
    }
  });
});

async function recorded(ip: string = target): Promise<Attacks['data']> {
  const answer = await fixture.stack.api
    .call<Attacks>('GET', `/api/v1/attacks?ip=${ip}`)
    .catch(() => null);
  return answer?.status === 200 ? answer.body.data : [];
}

/** `calledOff`: it ends, and rejects; `enough`: it ends. */
async function flood(
  pps: number,
  seconds: number,
  at: string = target,
  { calledOff, enough }: { readonly calledOff?: AbortSignal; readonly enough?: AbortSignal } = {},
) {
  const { client, edge } = fixture.internet;
  const { ifindex } = linkOf(client, 'eth0');
  const to = linkOf(edge, EDGE_DEVICE).address;
  const plan = {
    name: 'dns',
    kind: 'dns',
    target: at,
    to,
    device: 'eth0',
    ifindex,
    pps,
    seconds,
  } as const;
  const report = (await sendFloods(client, [plan], calledOff, enough)).get('dns');
  if (report === undefined) throw new Error('a flood says nothing of itself');
  return report;
}

/** DNS responses that arrive at the server. */
function countAtServer(table = 'counting'): () => number {
  const { server } = fixture.internet;
  server.run(
    'nft',
    `add table inet ${table}
    add chain inet ${table} input { type filter hook prerouting priority -350; }
    add rule inet ${table} input udp sport 53 ip saddr 11.0.0.0/8 counter`,
  );
  return () => {
    const listed = server.run('nft', 'list', 'chain', 'inet', table, 'input');
    return Number(/counter packets (\d+)/.exec(listed)?.[1]);
  };
}
