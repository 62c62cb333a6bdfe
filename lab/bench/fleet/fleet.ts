import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { missing } from '../../requirements.ts';
import { drawing, type Line, panel } from '../dataplane/plot.ts';
import type { Bench } from '../report.ts';
import { MeasuredFleet, type Start } from './measured-fleet.ts';
import { parseOptions, type FleetPlan } from './plan.ts';
import {
  costRows,
  countedWindows,
  describeWindow,
  type Cost,
  startRows,
  summarise,
} from './rows.ts';

const PLOT = join(import.meta.dirname, '..', '..', '..', 'docs', 'fleet-cost.svg');

/** Two hundred edges and a million rules: how long a sync of everything takes, and a write until it is live. */
export const fleetBench: Bench = {
  name: 'fleet',
  takesOptions: true,
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'nats-server']),
  async run(say, options) {
    const plan = parseOptions(options);
    const { start, costs } = await measureFleet(plan, say);
    const isWhole = options.length === 0 && costs.every((cost) => countedWindows(cost).length > 0);
    if (isWhole) writeFileSync(PLOT, plot(costs.toReversed()));
    else say('the picture in docs/ stays: it is of runs without options that nothing disturbed');
    const rows = [...startRows(plan, start), ...costs.flatMap((cost) => costRows(plan, cost))];
    return { rows, details: { plan, start, costs } };
  },
};

/** Runs the plan. Sizes are measured from the largest to the smallest. */
export async function measureFleet(
  plan: FleetPlan,
  say: (line: string) => void,
): Promise<{ readonly start: Start; readonly costs: readonly Cost[] }> {
  const fleet = await MeasuredFleet.start(plan);
  try {
    say(`${fleet.size} edges, and ${plan.addresses} addresses with rules in the database`);
    const start = await fleet.startAll();
    say(`every edge is in service after ${Math.round(start.ms)} ms`);
    const costs: Cost[] = [];
    for (const [at] of plan.simulated.entries()) {
      if (at > 0) await fleet.shrink();
      await delay(plan.calmMs);
      const cost: Cost = { edges: fleet.size, idle: await fleet.measureIdle(), windows: [] };
      await fleet.warmUp();
      while (cost.windows.length < plan.windows) {
        const window = await fleet.measure();
        cost.windows.push(window);
        say(`${cost.edges} edges: ${describeWindow(window)}`);
      }
      costs.push(cost);
    }
    return { start, costs };
  } finally {
    await fleet.stop();
  }
}

const TIMES: readonly Line<Cost>[] = [
  { label: 'p50', colour: '#0b6', value: (cost) => summarise(cost).p50 },
  { label: 'p90', colour: '#06c', value: (cost) => summarise(cost).p90 },
  { label: 'p99', colour: '#c40', value: (cost) => summarise(cost).p99 ?? Number.NaN },
];
const USE: readonly Line<Cost>[] = [
  { label: 'control, % of a core', colour: '#06c', value: (cost) => summarise(cost).ran.control },
  { label: 'PostgreSQL, %', colour: '#0b6', value: (cost) => summarise(cost).ran.PostgreSQL },
  { label: 'NATS, KiB a write', colour: '#c40', value: (cost) => summarise(cost).natsKibPerWrite },
];

function plot(costs: readonly Cost[]): string {
  const across = ({ edges }: Cost): number => edges;
  return drawing([
    panel(0, costs, across, TIMES, 'edges', 'ms to live'),
    panel(1, costs, across, USE, 'edges', 'at 2 writes/s'),
  ]);
}
