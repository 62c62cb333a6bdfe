import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { linkOf } from '../bench/traffic.ts';
import { sendFloods } from '../floods/flood.ts';
import { EDGE_DEVICE, SERVER } from '../internet.ts';
import { ORGANISATION } from '../stack.ts';
import { buildGround, eventually, type Ground, whyNot } from './ground.ts';

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
      - { name: lab, abilities: [firewall.read, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
`;
const target = SERVER[4];
const FLOOD = { pps: 12_000, seconds: 14 } as const;

interface Attacks {
  readonly data: readonly {
    readonly attack_type: string;
    readonly started_at: string;
    readonly mitigated_at: string | null;
    readonly ended_at: string | null;
  }[];
}

let ground: Ground;

describe('a control plane that hangs during a flood', { skip: whyNot() }, () => {
  before(async () => {
    ground = await buildGround('hanging', { fleet: FLEET });
  });
  after(() => ground.stop());

  it('is done without by the edge, and has one record of it when it is back', async (t) => {
    const { stack } = ground;
    const arrived = countAtServer();
    await eventually('the edge counts', async () => {
      const said = await stack.command('edges', 'show', 'lab');
      return said.includes('traffic is counted by XDP');
    });
    const control = stack.pidOf('control/main.ts');
    // Its sockets stay open: nobody but who waits for its answers notices.
    process.kill(control, 'SIGSTOP');
    let report: Awaited<ReturnType<typeof flood>>;
    try {
      const flooding = flood(FLOOD.pps, FLOOD.seconds);
      await eventually('nothing arrives any more', async () => {
        const first = arrived();
        await new Promise((resolve) => setTimeout(resolve, 400));
        return first > 0 && arrived() === first;
      });
      const leaked = arrived();
      report = await flooding;
      t.diagnostic(`${leaked} of ${report.packets} arrived`);
      assert.equal(arrived(), leaked);
      assert.ok(leaked < report.packets * 0.6);
    } finally {
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
    assert.ok(Math.abs(Date.parse(attack?.started_at ?? '') - report.beganAtMs) < 3_000);
    const lateMs = Date.parse(attack?.mitigated_at ?? '') - report.beganAtMs;
    // Control is known to be away after 3 s; then the flood is known already.
    assert.ok(lateMs < 6_000, `mitigated after ${lateMs} ms`);
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
});

async function recorded(): Promise<Attacks['data']> {
  const answer = await ground.stack.api
    .call<Attacks>('GET', `/api/v1/attacks?ip=${target}`)
    .catch(() => null);
  return answer?.status === 200 ? answer.body.data : [];
}

async function flood(pps: number, seconds: number) {
  const { client, edge } = ground.internet;
  const { ifindex } = linkOf(client, 'eth0');
  const to = linkOf(edge, EDGE_DEVICE).address;
  const plan = {
    name: 'dns',
    kind: 'dns',
    target,
    to,
    device: 'eth0',
    ifindex,
    pps,
    seconds,
  } as const;
  const report = (await sendFloods(client, [plan])).get('dns');
  if (report === undefined) throw new Error('a flood says nothing of itself');
  return report;
}

/** Answers of resolvers that arrive at the server. */
function countAtServer(): () => number {
  const { server } = ground.internet;
  server.run(
    'nft',
    `add table inet counting
    add chain inet counting input { type filter hook prerouting priority -350; }
    add rule inet counting input udp sport 53 ip saddr 11.0.0.0/8 counter`,
  );
  return () => {
    const listed = server.run('nft', 'list', 'chain', 'inet', 'counting', 'input');
    return Number(/counter packets (\d+)/.exec(listed)?.[1]);
  };
}
