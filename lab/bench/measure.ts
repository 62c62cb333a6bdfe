import { readFileSync } from 'node:fs';
import type { Plan } from './generator/plan.ts';
import type { Range, Target } from './generator/traffic.ts';

export interface Case {
  readonly name: string;
  readonly target: Target;
  readonly plan: Omit<Plan, 'to' | 'from'>;
  readonly expected: 'drop' | 'pass';
}

const ROUNDS = 7;
const PACKETS = 400_000;
/** Ports of random packets are those of some rules now and then. */
const OTHERWISE = 0.02;

/** Nanoseconds a packet takes, by name: the median of rounds in which all cases take turns. Round 0 warms up. */
export async function measure(
  range: Range,
  cases: readonly Case[],
  say: (line: string) => void,
  rounds = ROUNDS,
): Promise<Map<string, number>> {
  const taken = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const { name, target, plan, expected } of cases) {
      const counted = await range.send(target, plan, PACKETS);
      const passed = counted.passed / counted.sent;
      const wrong = expected === 'drop' ? passed : 1 - passed;
      if (counted.taken < counted.sent || wrong > OTHERWISE) {
        throw new Error(
          `${name}: ${JSON.stringify(counted)}, where every packet should ${expected}`,
        );
      }
      if (round > 0) taken.get(name)?.push(counted.ns);
    }
  }
  const medians = new Map([...taken].map(([name, values]) => [name, median(values)]));
  for (const [name, ns] of medians) say(`${name}: ${ns} ns`);
  return medians;
}

/** Millions of packets a second. */
export function rateOf(ns: number): number {
  return 1000 / ns;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function residentMib(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
