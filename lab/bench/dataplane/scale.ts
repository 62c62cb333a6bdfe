import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { missing } from '../../requirements.ts';
import { BenchEdge } from './edge-process.ts';
import { type Case, measure, rateOf } from '../measure.ts';
import { type Cost, plotCosts } from './plot.ts';
import { type Fleet, floodOf, policiesOf } from './policies.ts';
import type { Bench, Row } from '../report.ts';
import { settingsOf, Subjects } from './subjects.ts';

type Size = Pick<Fleet, 'addresses' | 'rules'>;
type Say = (line: string) => void;

const LARGE: Size = { addresses: 100_000, rules: 10 };
/** Sizes by address, then by rule. */
const SIZES: readonly Size[] = [
  { addresses: 100, rules: 10 },
  { addresses: 1_000, rules: 10 },
  { addresses: 10_000, rules: 10 },
  LARGE,
  { addresses: 1_000, rules: 2 },
  { addresses: 1_000, rules: 30 },
  { addresses: 1_000, rules: 100 },
];
const ROUNDS = 3;
const PLOT = join(import.meta.dirname, '..', '..', '..', 'docs', 'data-plane-cost.svg');

/** How load time, memory and rate grow with addresses and with rules. */
export const scaleBench: Bench = {
  name: 'scale',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool']),
  run: async (say) => {
    const costs: Cost[] = [];
    for (const size of SIZES) costs.push(await costOf(size, say));
    writeFileSync(PLOT, plotCosts(costs));
    return costs.flatMap(rowsOf);
  },
};

async function costOf(size: Size, say: Say): Promise<Cost> {
  const fleet: Fleet = { family: 4, end: 'deny', ...size };
  const subjects = new Subjects('scale');
  const target = subjects.range.target();
  const edge = new BenchEdge(target.namespace, policiesOf(fleet), settingsOf('inbound'));
  const at = `${size.addresses} x ${size.rules}`;
  const ours: Case = { name: at, target, plan: floodOf(fleet), expected: 'drop' };
  const bare: Case = { ...ours, name: `bare beside ${at}`, target: subjects.bare() };
  try {
    const loadMs = await edge.start();
    say(`${at}: loaded in ${Math.round(loadMs)} ms`);
    const early = await measure(subjects.range, [bare, ours], say, ROUNDS);
    const { residentMib } = edge.use();
    await edge.stop();
    const nftables = await measure(subjects.range, [bare, ours], say, ROUNDS);
    return {
      ...size,
      loadMs,
      edgeMib: residentMib,
      bareNs: early.get(bare.name) ?? Number.NaN,
      earlyNs: early.get(at) ?? Number.NaN,
      nftablesNs: nftables.get(at) ?? Number.NaN,
    };
  } finally {
    await edge.destroy();
    await subjects.destroy();
  }
}

function rowsOf(cost: Cost): Row[] {
  const at = `${cost.addresses.toLocaleString('en')} addresses x ${cost.rules} rules`;
  const row = (name: string, value: number, unit: string, baseline: number | null = null): Row => {
    return { name: `${at}: ${name}`, value, unit, baseline, goal: null };
  };
  const rate = 'M packets/s';
  return [
    row('start of the edge to all of it enforced', cost.loadMs, 'ms'),
    row('resident memory of the edge', cost.edgeMib, 'MiB'),
    row('drop rate, XDP, beside bare', rateOf(cost.earlyNs), rate, rateOf(cost.bareNs)),
    row('drop rate, nftables, beside bare', rateOf(cost.nftablesNs), rate, rateOf(cost.bareNs)),
  ];
}
