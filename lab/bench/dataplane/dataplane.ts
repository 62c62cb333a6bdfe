import type { Family } from '@portcullis/core/net/address.ts';
import { missing } from '../../requirements.ts';
import { type Case, measure, rateOf } from '../measure.ts';
import { CLOSED_PORT, type Fleet, floodOf } from './policies.ts';
import type { Bench, Row } from '../report.ts';
import { Subjects } from './subjects.ts';

const UNIT = 'M packets/s';
/** Two of each address. */
const FLOWS = 20_000;
const NAMES: Readonly<Record<Family, string>> = { 4: 'IPv4', 6: 'IPv6' };

type Times = ReadonlyMap<string, number>;
type Say = (line: string) => void;

/** The cost of a dropped packet, of every way to judge it, on one core with the generator and without detection. */
export const dataplaneBench: Bench = {
  name: 'dataplane',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool']),
  run: async (say) => [
    ...(await dropRows(4, say)),
    ...(await dropRows(6, say)),
    ...(await burdenRows(say)),
  ],
};

async function dropRows(family: Family, say: Say): Promise<Row[]> {
  const subjects = new Subjects(`drop${family}`);
  const toDenying = { plan: floodOf(fleetOf(family, {})), expected: 'drop' } as const;
  try {
    const cases: Case[] = [
      { name: 'raw', target: subjects.rawDrop('native'), ...toDenying },
      { name: 'bare', target: subjects.bare(), ...toDenying },
      ...(await denyingCases(subjects, family, toDenying)),
      ...(await acceptingCases(subjects, family)),
      ...(family === 4 ? await shapeCases(subjects, toDenying) : []),
    ];
    const times = await measure(subjects.range, cases, say);
    return [...floodRows(times, family), ...(family === 4 ? shapeRows(times) : [])];
  } finally {
    await subjects.destroy();
  }
}

async function denyingCases(
  subjects: Subjects,
  family: Family,
  flood: Pick<Case, 'plan' | 'expected'>,
): Promise<Case[]> {
  const fleet = fleetOf(family, {});
  return [
    { name: 'XDP', target: await subjects.edge(fleet, 'both'), ...flood },
    { name: 'nft', target: await subjects.nftables(fleet, 'inbound'), ...flood },
    { name: 'nft both', target: await subjects.nftables(fleet, 'both'), ...flood },
    { name: 'look-ups', target: subjects.lookups(fleet, true), ...flood },
    { name: 'two look-ups', target: subjects.lookups(fleet, false), ...flood },
  ];
}

/** Addresses that let pass what they do not deny, under a flood of what they do. */
async function acceptingCases(subjects: Subjects, family: Family): Promise<Case[]> {
  const fleet = fleetOf(family, { end: 'accept' });
  const plan = { ...floodOf(fleet), ports: [CLOSED_PORT, CLOSED_PORT], tcpShare: 0 } as const;
  const denied = { plan, expected: 'drop' } as const;
  return [
    { name: 'XDP accepting', target: await subjects.edge(fleet, 'both'), ...denied },
    { name: 'nft accepting', target: await subjects.nftables(fleet, 'inbound'), ...denied },
  ];
}

function floodRows(times: Times, family: Family): Row[] {
  const at = `${NAMES[family]}, 10,000 addresses x 10 rules`;
  const accepting = `${at}, default accept`;
  return [
    row(times, `${at}: XDP native beside raw XDP_DROP`, 'XDP', 'raw'),
    row(times, `${at}: XDP native beside bare ingress policy drop`, 'XDP', 'bare'),
    row(times, `${at}: nftables alone, one direction seen, beside bare`, 'nft', 'bare'),
    row(times, `${at}: nftables alone, connections followed, beside bare`, 'nft both', 'bare'),
    row(
      times,
      `${at}: a hand-written table, a look-up for each form of rule, beside bare`,
      'look-ups',
      'bare',
    ),
    row(
      times,
      `${at}: a hand-written table, two look-ups (port, address), then drop, beside bare`,
      'two look-ups',
      'bare',
    ),
    row(times, `${accepting}: XDP native beside raw XDP_DROP`, 'XDP accepting', 'raw'),
    row(times, `${accepting}: XDP native beside bare`, 'XDP accepting', 'bare'),
    row(times, `${accepting}: nftables alone beside bare`, 'nft accepting', 'bare'),
  ];
}

/** Fewer addresses of more rules, and rules one after the other. */
async function shapeCases(
  subjects: Subjects,
  toWide: Pick<Case, 'plan' | 'expected'>,
): Promise<Case[]> {
  const wide = fleetOf(4, {});
  const deep = fleetOf(4, { addresses: 1_000, rules: 100 });
  const toDeep = { plan: floodOf(deep), expected: 'drop' } as const;
  return [
    { name: 'XDP 1000x100', target: await subjects.edge(deep, 'both'), ...toDeep },
    { name: 'nft 1000x100', target: await subjects.nftables(deep, 'inbound'), ...toDeep },
    { name: 'linear', target: subjects.linear(wide), ...toWide },
    { name: 'linear 1000x100', target: subjects.linear(deep), ...toDeep },
  ];
}

function shapeRows(times: Times): Row[] {
  const beside = '1,000 x 100 beside 10,000 x 10';
  return [
    row(times, `${beside}: XDP native`, 'XDP 1000x100', 'XDP', 0.8),
    row(times, `${beside}: nftables alone`, 'nft 1000x100', 'nft', 0.8),
    row(times, 'a linear chain an address, 10,000 x 10, beside bare', 'linear', 'bare'),
    row(times, 'a linear chain an address, 1,000 x 100, beside bare', 'linear 1000x100', 'bare'),
  ];
}

/** Other load that the stages may have to hold: a large country, and flows of the protected side. */
async function burdenRows(say: Say): Promise<Row[]> {
  const subjects = new Subjects('burden');
  const plainly = fleetOf(4, {});
  const fleet = fleetOf(4, { end: 'accept', geo: true });
  const geo = { plan: floodOf(fleet), expected: 'drop' } as const;
  const flood = { plan: floodOf(plainly), expected: 'drop' } as const;
  try {
    const bare: Case = { name: 'bare', target: subjects.bare(), ...flood };
    const without = { name: 'XDP', target: await subjects.edge(plainly, 'both'), ...flood };
    const withoutMs = subjects.startMs;
    const early = { name: 'XDP geo', target: await subjects.edge(fleet, 'both'), ...geo };
    const withMs = subjects.startMs;
    const nft = { name: 'nft geo', target: await subjects.nftables(fleet, 'inbound'), ...geo };
    const target = subjects.earlyDrop(plainly, FLOWS);
    const flows: Case = { name: 'XDP flows', target, ...flood };
    const times = await measure(subjects.range, [bare, without, early, nft, flows], say);
    const at = 'IPv4, 10,000 addresses that deny a country of 65,536 networks, flood from there';
    return [
      row(times, `${at}: XDP native beside bare`, 'XDP geo', 'bare'),
      row(times, `${at}: nftables alone beside bare`, 'nft geo', 'bare'),
      {
        name: `${at}: start of the edge to all of it enforced, beside the same without the country`,
        value: withMs,
        unit: 'ms',
        baseline: withoutMs,
        goal: null,
      },
      row(
        times,
        `IPv4, 10,000 addresses x 10 rules that opened ${FLOWS.toLocaleString('en')} flows: XDP native beside the same without`,
        'XDP flows',
        'XDP',
      ),
    ];
  } finally {
    await subjects.destroy();
  }
}

function fleetOf(family: Family, change: Partial<Fleet>): Fleet {
  return { family, addresses: 10_000, rules: 10, end: 'deny', ...change };
}

function row(times: Times, name: string, value: string, baseline: string, goal?: number): Row {
  const rate = (subject: string): number => rateOf(times.get(subject) ?? Number.NaN);
  return { name, unit: UNIT, goal: goal ?? null, value: rate(value), baseline: rate(baseline) };
}
