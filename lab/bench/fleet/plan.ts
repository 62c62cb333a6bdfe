import { parseArgs } from 'node:util';
import { ADDRESSES } from '../control/control-fixture.ts';

/** The fleet of a run of the bench, and its writes. */
export interface FleetPlan {
  readonly real: readonly string[];
  /** Numbers of simulated edges, most first: some are ended between two sizes. */
  readonly simulated: readonly number[];
  /** Addresses of 10.0.0.0/8 with rules. Each real edge serves all of them, and the simulated ones divide them. */
  readonly addresses: number;
  /** The size of a real edge's disk. */
  readonly disk: string;
  readonly writesPerSecond: number;
  readonly warmUpWrites: number;
  /** The writes of a window. */
  readonly writes: number;
  /** Windows of each size. */
  readonly windows: number;
  /** The time after edges started or ended: they then store what they have, and PostgreSQL tidies up. */
  readonly calmMs: number;
  /** The time that each size is measured for while nothing is written. */
  readonly idleMs: number;
}

/** The state of an edge of a million rules needs 115 MiB of disk. */
const PLAN: FleetPlan = {
  real: ['real1', 'real2', 'real3'],
  simulated: [200, 20, 2],
  addresses: ADDRESSES,
  disk: '1g',
  writesPerSecond: 2,
  warmUpWrites: 10,
  writes: 300,
  windows: 1,
  calmMs: 60_000,
  idleMs: 60_000,
};

const USAGE =
  '--edges N,N,... (simulated ones, most first), --addresses N, --rate N, --writes N, --windows N';

/** Throws with the options that there are. */
export function parseOptions(args: readonly string[]): FleetPlan {
  const text = { type: 'string' } as const;
  const options = { edges: text, addresses: text, rate: text, writes: text, windows: text };
  const { values } = parseArgs({ args: [...args], options });
  const counted = (name: string, value: string | undefined, fallback: number): number => {
    if (value === undefined) return fallback;
    const count = Number(value);
    if (!Number.isSafeInteger(count) || count < 1)
      throw new Error(`--${name} ${value} is no number above 0: ${USAGE}`);
    return count;
  };
  const simulated = values.edges?.split(',').map((one) => counted('edges', one, 0));
  if (simulated?.some((size, at) => size >= (simulated[at - 1] ?? Infinity)) === true)
    throw new Error(`--edges ${values.edges} does not go down: ${USAGE}`);
  return {
    ...PLAN,
    simulated: simulated ?? PLAN.simulated,
    addresses: counted('addresses', values.addresses, PLAN.addresses),
    writesPerSecond: counted('rate', values.rate, PLAN.writesPerSecond),
    writes: counted('writes', values.writes, PLAN.writes),
    windows: counted('windows', values.windows, PLAN.windows),
  };
}

/** A process has one thread for all its edges, so a few of them share the work also where one could have all edges. */
const PROCESSES = 4;
const EDGES_PER_PROCESS = 250;

/** The edges of each process, by the size of the fleet that the processes end with. */
export function planProcesses(simulated: readonly number[]): number[][] {
  return simulated.map((size, at) => {
    const edges = size - (simulated[at + 1] ?? 0);
    const count = Math.max(Math.min(PROCESSES, edges), Math.ceil(edges / EDGES_PER_PROCESS));
    return Array.from({ length: count }, (_, index) => {
      const until = (part: number): number => Math.floor((edges * part) / count);
      return until(index + 1) - until(index);
    });
  });
}

/** The prefix of a simulated edge. Together they serve all addresses; of many edges, some serve what others do. */
export function servedBy({ addresses, simulated }: FleetPlan, index: number): string {
  const bits = Math.max(0, Math.ceil(Math.log2(addresses / (simulated[0] ?? 1))));
  // Addresses are counted from 1.
  const blocks = Math.ceil((addresses + 1) / 2 ** bits);
  const first = (index % blocks) * 2 ** bits;
  return `10.${first >> 16}.${(first >> 8) & 255}.${first & 255}/${32 - bits}`;
}
