import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { after, before, describe, it } from 'node:test';
import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { findEmbeddedPostgres } from '@portcullis/control/db/embedded/index.ts';
import { sql } from 'kysely';
import { linkOf } from '../../bench/generator/traffic.ts';
import { sendFloods } from '../../floods/flood.ts';
import type { FloodKind } from '../../floods/frames.ts';
import { type Played, Players } from '../../floods/players.ts';
import type { FloodPlan, FloodReport } from '../../floods/schedule.ts';
import { createInternet, EDGE_DEVICE, type Internet } from '../../stack/internet.ts';
import { skipUnless } from '../../requirements.ts';
import { type Stack, startStack } from '../../stack/stack.ts';
import { eventually } from '../stack-fixture.ts';

/**
 * End to end: sends floods, and checks the edge's autonomous mitigation of each by the packets that still reach the
 * server and by a player that was connected before.
 */
const THRESHOLD_PPS = 500;
const FLOOD_PPS = 1500;
const SECONDS = 4;
/** Time between the starts of two floods: a small machine cannot send more of them at full rate. */
const APART_SECONDS = 1.5;
const HOLD_SECONDS = 120;
/** Share of the packets that must be dropped. */
const DROPPED = 0.97;
/** Share of a player's packets, including those sent before the attack is detected. */
const SERVED = 0.9;
const SERVED_FROM_THE_BEGINNING = 0.7;
/** The forged sources of floods; no other sender uses it. */
const FORGED = { 4: '11.0.0.0/8', 6: '2001:db8:bad::/48' } as const;

interface Vector {
  readonly kind: FloodKind;
  readonly type: AttackType;
  /** Traffic that must not be dropped: new sources share it with the flood. */
  readonly passesPps: number;
  readonly player: 'udp' | 'tcp';
  readonly alsoIpv6?: boolean;
  /** The server answers the packets of the flood that pass. */
  readonly isAnswered?: boolean;
}
const UNANSWERED_PPS = 500;
const ICMP_PPS = 200;
const VECTORS: readonly Vector[] = [
  { kind: 'icmp', type: 'icmp_flood', passesPps: ICMP_PPS, player: 'udp', alsoIpv6: true },
  {
    kind: 'syn',
    type: 'tcp_syn_flood',
    passesPps: 0,
    player: 'tcp',
    isAnswered: true,
    alsoIpv6: true,
  },
  { kind: 'ack', type: 'tcp_ack_flood', passesPps: 0, player: 'tcp', isAnswered: true },
  { kind: 'gre', type: 'gre_flood', passesPps: UNANSWERED_PPS, player: 'udp', isAnswered: true },
  { kind: 'fragments', type: 'ip_fragment_flood', passesPps: 0, player: 'udp' },
  { kind: 'few', type: 'udp_flood', passesPps: 0, player: 'udp', alsoIpv6: true },
  { kind: 'udp', type: 'udp_flood', passesPps: UNANSWERED_PPS, player: 'udp', isAnswered: true },
  {
    kind: 'syn+udp',
    type: 'multi_vector',
    passesPps: UNANSWERED_PPS,
    player: 'udp',
    isAnswered: true,
  },
  { kind: 'dns', type: 'dns_amplification', passesPps: 0, player: 'udp', alsoIpv6: true },
  { kind: 'ntp', type: 'ntp_amplification', passesPps: 0, player: 'udp' },
];
const targets = VECTORS.flatMap((vector, index) =>
  [`203.0.113.${130 + index}`, ...(vector.alsoIpv6 ? [`2001:db8:5::${130 + index}`] : [])].map(
    (address) => ({ ...vector, address, name: `${vector.kind} to ${address}` }),
  ),
);
type Target = (typeof targets)[number];

describe('floods that an edge mitigates by itself', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool', 'python3', 'postgres']),
}, () => {
  let internet: Internet;
  let stack: Stack;
  let db: Db;
  let players: Players;
  let first: Round;
  let second: Round;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    setPriority(-10);
    internet = createInternet('mitigating');
    undo.push(() => internet.destroy());
    internet.client.run('ethtool', '-K', 'eth0', 'gro', 'on');
    internet.edge.run('ethtool', '-K', EDGE_DEVICE, 'gro', 'on');
    for (const { address } of targets) {
      const length = address.includes(':') ? '/64' : '/24';
      const nodad = address.includes(':') ? ['nodad'] : [];
      internet.server.run('ip', 'addr', 'add', address + length, 'dev', 'eth0', ...nodad);
    }
    countForged(internet);
    stack = await startStack(internet, { fleet: FLEET });
    undo.push(() => stack.stop());
    const url = findEmbeddedPostgres(stack.dataDir);
    assert.ok(url !== null);
    db = openDatabase({ url, poolSize: 2 });
    undo.push(() => db.destroy());
    const of = (kind: Vector['player']): string[] =>
      targets.filter(({ player }) => player === kind).map(({ address }) => address);
    players = await Players.join(internet, { udp: of('udp'), tcp: of('tcp') });
    undo.push(() => players.stop());
    first = await round();
    await eventually('all are mitigated', async () => (await recorded(db)).size === targets.length);
    second = await round();
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function round(): Promise<Round> {
    const reached = forgedAt(internet);
    let sent: Round['sent'] = new Map();
    const flooding = sendFloods(internet.client, plansOf(internet)).then((reports) => {
      sent = reports;
    });
    const played = await players.playUntil(flooding);
    const now = forgedAt(internet);
    const passed = new Map([...now].map(([to, count]) => [to, count - (reached.get(to) ?? 0)]));
    return { sent, played, passed };
  }

  function each(check: (target: Target) => string | null): void {
    const wrong = targets.flatMap((target) => {
      const why = check(target);
      return why === null ? [] : [`${target.name}: ${why}`];
    });
    assert.deepEqual(wrong, []);
  }

  it('each is recorded with its type and mitigated in the kernel', async () => {
    const records = await recorded(db);
    each(({ address, type }) => {
      const found = records.get(address);
      return found === type ? null : `recorded as ${found}`;
    });
  });

  it('each is dropped as far as it is meant to be', (t) => {
    let least = 1;
    each(({ name, kind, address, passesPps }) => {
      const sent = second.sent.get(name);
      const passed = second.passed.get(address);
      if (sent === undefined || passed === undefined) return 'not counted';
      // Of what nobody knew of yet, some did: else nothing is counted here. Parts are never put together.
      if (kind !== 'fragments' && (first.passed.get(address) ?? 0) === 0) return 'never seen';
      const seconds = (sent.endedAtMs - sent.beganAtMs) / 1000;
      // An unused rate limit holds the packets of one second.
      const meant = sent.packets - passesPps * (seconds + 1);
      if (meant < sent.packets / 4) return `only ${sent.packets} were sent`;
      const share = (sent.packets - passed) / meant;
      least = Math.min(least, share);
      return share >= DROPPED ? null : `${passed} of ${sent.packets} passed in ${seconds} s`;
    });
    t.diagnostic(`${(least * 100).toFixed(2)} % at least`);
  });

  it('players from before the flood are still served', (t) => {
    let least = 1;
    const share = ({ sent, answered }: Played): number => (sent === 0 ? 0 : answered / sent);
    each(({ address }) => {
      const [begin, then] = [first.played.get(address), second.played.get(address)];
      if (begin === undefined || then === undefined) return 'nobody played';
      least = Math.min(least, share(then));
      const isServed = share(then) >= SERVED && share(begin) >= SERVED_FROM_THE_BEGINNING;
      return isServed ? null : JSON.stringify([begin, then]);
    });
    t.diagnostic(`${(least * 100).toFixed(1)} % at least`);
  });
});

/** A flood of all vectors at once, by name and by address. */
interface Round {
  readonly sent: ReadonlyMap<string, FloodReport>;
  readonly played: ReadonlyMap<string, Played>;
  readonly passed: ReadonlyMap<string, number>;
}

function plansOf(internet: Internet): FloodPlan[] {
  const { ifindex } = linkOf(internet.client, 'eth0');
  const { address: to } = linkOf(internet.edge, EDGE_DEVICE);
  return targets.map(({ name, kind, address, isAnswered = false }) => ({
    name,
    kind,
    target: address,
    to,
    device: 'eth0',
    ifindex,
    pps: FLOOD_PPS,
    seconds: SECONDS,
    startSeconds: VECTORS.findIndex((one) => one.kind === kind) * APART_SECONDS,
    // A forged source that repeats may already have been answered.
    ...(isAnswered ? { frames: FLOOD_PPS * SECONDS } : {}),
  }));
}

/** The type of each mitigated attack, by address. */
async function recorded(db: Db): Promise<Map<string, string>> {
  const { rows } = await sql<{ address: string; type: string }>`
    select host(o.subject) as address, a.attack_type as type
      from ongoing_attacks o
      join attacks a on a.id = o.attack_id and a.revision = o.revision
     where a.mitigated_at is not null`.execute(db);
  return new Map(rows.map(({ address, type }) => [address, type]));
}

function countForged({ server }: Internet): void {
  const rules = targets.map(({ address }) => {
    const [ip, from] = address.includes(':') ? ['ip6', FORGED[6]] : ['ip', FORGED[4]];
    return `${ip} daddr ${address} ${ip} saddr ${from} counter comment "${address}"`;
  });
  const chain = ['type filter hook prerouting priority -450;', ...rules].join('\n');
  server.run('nft', `table inet forged {\nchain input {\n${chain}\n}\n}\n`);
}

function forgedAt({ server }: Internet): Map<string, number> {
  const listed = server.run('nft', 'list', 'chain', 'inet', 'forged', 'input');
  const counts = listed.matchAll(/counter packets (\d+) bytes \d+ comment "([^"]+)"/g);
  return new Map(Array.from(counts, ([, packets, address]) => [address ?? '', Number(packets)]));
}

const SINCE = 'since: "2026-01-01T00:00:00+00:00"';
const FLEET = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    thresholds: { pps: 10000000, mbps: 1000000, hold_seconds: ${HOLD_SECONDS} }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, ${SINCE} }
      - { cidr: "2001:db8:5::/48", asn: 64500, ${SINCE} }
    services:
      - id: 501
        name: attacked
        managed_filters: []
        thresholds: { pps: ${THRESHOLD_PPS} }
        addresses:
${targets.map(({ address }) => `          - { ip: "${address}", ${SINCE} }`).join('\n')}
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
`;
