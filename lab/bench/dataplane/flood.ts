import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Mitigation } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { filteredPolicy } from '@portcullis/dataplane/testing/policies.ts';
import { missing } from '../../requirements.ts';
import { answeredRows } from './answered.ts';
import { playersRows } from './players.ts';
import { type Case, median, rateOf } from '../measure.ts';
import type { Bench, Row } from '../report.ts';
import type { BenchEdge } from './edge-process.ts';
import {
  addressOf,
  type Fleet,
  floodOf,
  OPEN_PORT,
  passingOf,
  policiesOf,
  policyOf,
} from './policies.ts';
import { Subjects } from './subjects.ts';

const UNIT = 'M packets/s';
const NAMES: Readonly<Record<Family, string>> = { 4: 'IPv4', 6: 'IPv6' };
/** A flood of each case lasts so long in each of so many turns. */
const TURN_MS = 4_000;
const TURNS = 3;
/** Packets to learn the speed of a case by, and to warm up. */
const PROBE = 200_000;
/** Bytes before a packet as drivers without XDP leave them. */
const DRIVER_HEADROOM = 96;
/** The count of all attacked at once. */
const ATTACKED = 10;
const AGENT_PERCENT = 10;
const MITIGATED_MS = 1_000;
const NETWORKS: Readonly<Record<Family, string>> = { 4: '10.0.0.0/16', 6: '2001:db8:5::/64' };

interface FloodCase extends Case {
  /** The process whose processor time is measured beside it; null for a baseline. */
  readonly edge: BenchEdge | null;
  /** The mitigations of the attacked addresses come during the flood. */
  readonly mitigated?: true;
}
interface Taken {
  readonly ns: number;
  readonly cpuPercent: number;
}
type Results = ReadonlyMap<string, readonly Taken[]>;
type Say = (line: string) => void;

/**
 * The cost of a packet of a flood at an edge as it runs: its process counts, samples and detects meanwhile, as
 * `portcullis edge` does. Goals are judged by these rows.
 */
export const floodBench: Bench = {
  name: 'flood',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool', 'python3']),
  run: async (say) => [
    ...(await familyRows(4, say)),
    ...(await answeredRows(4, say)),
    ...(await familyRows(6, say)),
    ...(await answeredRows(6, say)),
    ...(await playersRows(say)),
  ],
};

async function familyRows(family: Family, say: Say): Promise<Row[]> {
  const subjects = new Subjects(`flood${family}`);
  try {
    const cases = [
      ...baselines(subjects, family),
      ...(await xdpCases(subjects, family)),
      ...(await tcCases(subjects, family)),
      ...(await nftCases(subjects, family)),
    ];
    const { results, mitigatedMs } = await flood(subjects, cases, family, say);
    return rowsOf(results, family, mitigatedMs);
  } finally {
    await subjects.destroy();
  }
}

function baselines(subjects: Subjects, family: Family): FloodCase[] {
  const fleet = fleetOf(family);
  const denied = { plan: floodOf(fleet), expected: 'drop', edge: null } as const;
  const late = { ...denied, plan: { ...denied.plan, headroom: DRIVER_HEADROOM } };
  return [
    { name: 'raw', target: subjects.rawDrop('native'), ...denied },
    { name: 'raw generic', target: subjects.rawDrop('generic'), ...late },
    { name: 'bare', target: subjects.bare(), ...denied },
    { name: 'bare late', target: subjects.bare(), ...late },
    { name: 'hand-written', target: subjects.lookups(fleet, true, true), ...denied },
    {
      name: 'forwarding',
      target: subjects.tracking(),
      plan: passingOf(fleet),
      expected: 'pass',
      edge: null,
    },
  ];
}

async function xdpCases(subjects: Subjects, family: Family): Promise<FloodCase[]> {
  const few = fleetOf(family);
  const many = { ...few, openPorts: 9 };
  const options = { scopes: scopesOf(family) };
  const first = await subjects.running(policiesOf(few), options);
  const second = await subjects.running(policiesOf(many), options);
  const third = await subjects.running(policiesOf(few), options);
  const of = (
    name: string,
    { target, edge }: typeof first,
    fleet: Fleet,
    share = 1,
  ): FloodCase => ({
    name,
    target,
    edge,
    expected: 'drop',
    plan: { ...floodOf(fleet), destinations: Math.ceil(fleet.addresses * share) },
  });
  const reflected = {
    ...floodOf(few),
    destinations: ATTACKED,
    sourcePorts: [53, 53],
    ports: [OPEN_PORT, OPEN_PORT],
    tcpShare: 0,
  } as const;
  return [
    of('XDP', first, few),
    of('XDP ten', first, few, ATTACKED / few.addresses),
    of('XDP one', first, few, 1 / few.addresses),
    of('XDP nine ports', second, many),
    { name: 'XDP passing', ...first, plan: passingOf(few), expected: 'pass' },
    { name: 'XDP reflected', ...third, plan: reflected, expected: 'drop', mitigated: true },
    of('XDP mitigated', third, few, ATTACKED / few.addresses),
    await filteredCase(subjects, family),
  ];
}

/** Packets that are no greeting, to the port of a game with its filter. */
async function filteredCase(subjects: Subjects, family: Family): Promise<FloodCase> {
  const fleet = { ...fleetOf(family), addresses: 1 };
  const policies = [filteredPolicy(addressOf(family, 0), ['source', OPEN_PORT])];
  const running = await subjects.running(policies, { scopes: scopesOf(family) });
  const plan = { ...floodOf(fleet), ports: [OPEN_PORT, OPEN_PORT], tcpShare: 0 } as const;
  return { name: 'XDP filtered', ...running, plan, expected: 'drop' };
}

async function tcCases(subjects: Subjects, family: Family): Promise<FloodCase[]> {
  const fleet = fleetOf(family);
  const options = { scopes: scopesOf(family), mode: 'tc' } as const;
  const running = await subjects.running(policiesOf(fleet), options);
  const plan = { ...floodOf(fleet), headroom: DRIVER_HEADROOM };
  return [
    { name: 'tc', ...running, plan, expected: 'drop' },
    { name: 'tc one', ...running, plan: { ...plan, destinations: 1 }, expected: 'drop' },
  ];
}

async function nftCases(subjects: Subjects, family: Family): Promise<FloodCase[]> {
  const fleet = fleetOf(family);
  const scopes = scopesOf(family);
  const flood = { plan: floodOf(fleet), expected: 'drop' } as const;
  const both = await subjects.running(policiesOf(fleet), { scopes, mode: 'none' });
  const inbound = await subjects.running(policiesOf(fleet), {
    scopes,
    mode: 'none',
    sees: 'inbound',
  });
  return [
    { name: 'nft', ...inbound, ...flood },
    { name: 'nft both', ...both, ...flood },
    { name: 'nft passing', ...both, plan: passingOf(fleet), expected: 'pass' },
  ];
}

/** All cases take turns. Mitigations are set while their flood is on. */
async function flood(
  { range }: Subjects,
  cases: readonly FloodCase[],
  family: Family,
  say: Say,
): Promise<{ readonly results: Results; readonly mitigatedMs: number }> {
  const results = new Map<string, Taken[]>(cases.map(({ name }) => [name, []]));
  let mitigatedMs = Number.NaN;
  for (let turn = 0; turn < TURNS; turn++) {
    for (const { name, target, plan, expected, edge, mitigated } of cases) {
      if (mitigated === true && edge !== null && turn === 0) {
        const attack = range.send(target, plan, PROBE * ATTACKED);
        mitigatedMs = await mitigate(edge, family);
        await attack;
      }
      const probe = await range.send(target, plan, PROBE);
      const packets = Math.ceil((TURN_MS * 1e6) / probe.ns);
      const [begin, before] = [performance.now(), edge?.use()];
      const counted = await range.send(target, plan, packets);
      const cpuMs = (edge?.use().cpuMs ?? 0) - (before?.cpuMs ?? 0);
      const cpuPercent = (cpuMs / (performance.now() - begin)) * 100;
      requireVerdict(name, expected, counted.passed / counted.sent);
      results.get(name)?.push({ ns: counted.ns, cpuPercent });
      say(`${name}: ${counted.ns} ns, agent ${cpuPercent.toFixed(1)} % of a core`);
    }
  }
  return { results, mitigatedMs };
}

/** Ports of random packets are those of some rules now and then. */
function requireVerdict(name: string, expected: 'drop' | 'pass', passed: number): void {
  const wrong = expected === 'drop' ? passed : 1 - passed;
  if (wrong > 0.02) throw new Error(`${name}: ${passed} of the packets passed`);
}

/** Until the edge has confirmed the mitigations of all attacked addresses, in milliseconds. */
async function mitigate(edge: BenchEdge, family: Family): Promise<number> {
  const begin = performance.now();
  let generation = 0;
  for (let index = 0; index < ATTACKED; index++) {
    const policy = policyOf(fleetOf(family), index);
    generation = edge.change({ ...policy, mitigations: MITIGATIONS });
  }
  await edge.confirmed(generation);
  return performance.now() - begin;
}

const UDP_MITIGATION = {
  mode: 'enforce',
  protocol: 'udp',
  sourcePort: null,
  destinationPort: null,
  source: null,
  safelist: [],
  fragment: 'any',
  limit: null,
} as const;
/** Against a reflection, and against sources that send too much. */
const MITIGATIONS: readonly Mitigation[] = [
  { ...UDP_MITIGATION, ref: 'mitigation:1', sourcePort: 53 },
  {
    ...UDP_MITIGATION,
    ref: 'mitigation:2',
    destinationPort: OPEN_PORT,
    limit: { per: 'source', pps: 500, unansweredOnly: true },
  },
];

type Compared = readonly [what: string, name: string, baseline: string, goal: number | null];

const RAW = 'raw XDP_DROP';
const BARE = 'a bare ingress drop';
const FORWARDING = 'forwarding that follows connections';
/** The compared values: the words, the case, its baseline and the least ratio. */
const COMPARED: readonly Compared[] = [
  [`random addresses: XDP beside ${RAW}`, 'XDP', 'raw', 0.75],
  [`ten addresses: XDP beside ${RAW}`, 'XDP ten', 'raw', null],
  [`one address: XDP beside ${RAW}`, 'XDP one', 'raw', 0.9],
  [`random addresses, nine named ports: XDP beside ${RAW}`, 'XDP nine ports', 'raw', 0.75],
  [`random addresses: XDP beside ${BARE}`, 'XDP', 'bare', 1.1],
  [`one address: XDP beside ${BARE}`, 'XDP one', 'bare', 1.35],
  [`ten addresses, mitigated reflection: XDP beside ${RAW}`, 'XDP reflected', 'raw', null],
  [`ten mitigated addresses, any flood: XDP beside ${RAW}`, 'XDP mitigated', 'raw', null],
  [`a game's port with its filter: XDP beside ${RAW}`, 'XDP filtered', 'raw', null],
  [`random addresses: tc ingress beside ${BARE}`, 'tc', 'bare late', 0.7],
  [`one address: tc ingress beside ${BARE}`, 'tc one', 'bare late', 0.85],
  ['random addresses: tc ingress beside raw generic XDP_DROP', 'tc', 'raw generic', null],
  ['random addresses: nftables alone beside a hand-written table', 'nft', 'hand-written', 0.8],
  ['the same, connections followed', 'nft both', 'hand-written', null],
  [`passing: XDP and nftables beside ${FORWARDING}`, 'XDP passing', 'forwarding', 0.7],
  [`passing: nftables alone beside ${FORWARDING}`, 'nft passing', 'forwarding', 0.7],
];

function rowsOf(results: Results, family: Family, mitigatedMs: number): Row[] {
  const rate = (name: string): number =>
    rateOf(median((results.get(name) ?? []).map((one) => one.ns)));
  const at = NAMES[family];
  const compared = COMPARED.map(
    ([what, name, baseline, goal]): Row => ({
      name: `${at}, ${what}`,
      value: rate(name),
      unit: UNIT,
      baseline: rate(baseline),
      goal,
    }),
  );
  const agent = Math.max(...[...results.values()].flat().map(({ cpuPercent }) => cpuPercent));
  return [
    ...compared,
    upper(`${at}, processor time of an agent at most`, agent, '% of a core', AGENT_PERCENT),
    upper(`${at}, mitigations of ten addresses, in a flood`, mitigatedMs, 'ms', MITIGATED_MS),
  ];
}

function upper(name: string, value: number, unit: string, goal: number): Row {
  return { name, value, unit, baseline: null, goal, goalIs: 'at most' };
}

function fleetOf(family: Family): Fleet {
  return { family, addresses: 10_000, rules: 10, end: 'deny' };
}

function scopesOf(family: Family): WatchScope[] {
  const thresholds = { ...DEFAULT_THRESHOLDS, mitigation: 'on', safelist: [] } as const;
  return [{ scope: NETWORKS[family], ...thresholds, subject: true }];
}
