import { mean } from '../control/rounds.ts';
import { quantile } from '../measure.ts';
import { isDisturbed } from '../processor-use.ts';
import type { Row } from '../report.ts';
import { type Idle, type Program, PROGRAMS, type Start, type Window } from './measured-fleet.ts';
import type { FleetPlan } from './plan.ts';

/** The cost of a fleet of this number of edges while rules are written. */
export interface Cost {
  readonly edges: number;
  readonly idle: Idle;
  readonly windows: Window[];
}

interface Summary {
  readonly p50: number;
  readonly p90: number;
  /** The p99 of the worst window; null if other programs disturbed every window. */
  readonly p99: number | null;
  /** Per cent of one core. */
  readonly ran: Readonly<Record<Program, number>>;
  /** Milliseconds a second in which the program's threads waited for a core, summed. */
  readonly waited: Readonly<Record<Program, number>>;
  /** Per cent of one core that other programs of the machine used. */
  readonly others: number;
  readonly pressure: number | null;
  readonly controlMib: number;
  readonly natsKibPerWrite: number;
}

/** The windows that other programs did not disturb. */
export function countedWindows({ windows }: Cost): readonly Window[] {
  return windows.filter(({ use }) => !isDisturbed(use));
}

/** The median and the p90 are of all writes, also where other programs disturbed; a p99 would be theirs. */
export function summarise(cost: Cost): Summary {
  const counted = countedWindows(cost);
  const windows = counted.length > 0 ? counted : cost.windows;
  const propagation = windows.flatMap((window) => window.propagation);
  const p99s = counted.map((window) => quantile(window.propagation, 0.99));
  const over = (value: (window: Window) => number): number => mean(windows.map(value));
  const byProgram = (value: (window: Window, program: Program) => number) =>
    Object.fromEntries(
      PROGRAMS.map((program) => [program, over((window) => value(window, program))]),
    ) as Record<Program, number>;
  return {
    p50: quantile(propagation, 0.5),
    p90: quantile(propagation, 0.9),
    p99: p99s.length === 0 ? null : Math.max(...p99s),
    ran: byProgram(({ use }, program) => (100 * use.trees[program].ranMs) / use.tookMs),
    waited: byProgram(({ use }, program) => (1_000 * use.trees[program].waitedMs) / use.tookMs),
    others: over(othersOf),
    pressure: windows.some(({ use }) => use.pressure === null)
      ? null
      : over(({ use }) => 100 * (use.pressure ?? 0)),
    controlMib: Math.max(...windows.map(({ controlMib }) => controlMib)),
    natsKibPerWrite: over(({ natsKibPerWrite }) => natsKibPerWrite),
  };
}

function othersOf({ use }: Window): number {
  return (100 * use.othersMs) / use.tookMs;
}

export function describeWindow(window: Window): string {
  const at = (share: number): string => `${Math.round(quantile(window.propagation, share))}`;
  const others = `others used ${Math.round(othersOf(window))} % of a core`;
  return isDisturbed(window.use)
    ? `live after ${at(0.5)} ms (p50) and ${at(0.9)} ms (p90); no p99, because ${others}`
    : `live after ${at(0.5)} ms (p50), ${at(0.9)} ms (p90) and ${at(0.99)} ms (p99); ${others}`;
}

/** Goals of a fleet of two hundred edges and of a thousand, on two cores. */
const HUNDREDS = 203;
const THOUSAND = 1_003;

function figure(name: string, value: number, unit: string, goal: number | null = null): Row {
  return { name, value, unit, baseline: null, goal, goalIs: 'at most' };
}

export function startRows(
  { real, simulated, addresses }: FleetPlan,
  { ms, controlMib }: Start,
): Row[] {
  const what = `${simulated[0]} simulated edges and ${real.length} real ones from nothing, ${addresses.toLocaleString('en')} addresses x 10 rules`;
  const edges = (simulated[0] ?? 0) + real.length;
  const goal = edges <= HUNDREDS ? 45 : null;
  return [
    figure(`${what}: until every one enforces`, ms / 1_000, 's', goal),
    figure(`${what}: control's resident memory, highest`, controlMib, 'MiB'),
  ];
}

export function costRows(plan: FleetPlan, cost: Cost): Row[] {
  const { edges, windows } = cost;
  const summary = summarise(cost);
  const what = `${edges} edges, ${plan.writesPerSecond} writes a second`;
  const live = `${what}: accepted to live on every edge`;
  const isSmall = edges <= HUNDREDS;
  const p99Goal = isSmall ? 1_000 : edges <= THOUSAND ? 2_000 : null;
  const counted = countedWindows(cost).length;
  const p99 = windows.length === 1 ? 'p99' : `p99 of the worst of ${counted} windows`;
  return [
    figure(`${live}, p50`, summary.p50, 'ms', isSmall ? 250 : null),
    figure(`${live}, p90`, summary.p90, 'ms'),
    ...(summary.p99 === null ? [] : [figure(`${live}, ${p99}`, summary.p99, 'ms', p99Goal)]),
    ...PROGRAMS.flatMap((program) => [
      figure(`${what}: ${program}, of one core`, summary.ran[program], '%'),
      figure(
        `${what}: ${program}, waiting of its threads for a core`,
        summary.waited[program],
        'ms/s',
      ),
    ]),
    ...(summary.pressure === null
      ? []
      : [figure(`${what}: time in which something waited for a core`, summary.pressure, '%')]),
    figure(`${what}: other programs of the machine, of one core`, summary.others, '%'),
    figure(`${what}: windows that others did not disturb, of ${windows.length}`, counted, ''),
    figure(`${what}: control's resident memory`, summary.controlMib, 'MiB'),
    figure(`${what}: NATS, for a write`, summary.natsKibPerWrite, 'KiB', isSmall ? 40 : null),
    ...idleRows(cost),
  ];
}

function idleRows({ edges, idle: { use, natsKibPerSecond } }: Cost): Row[] {
  const what = `${edges} edges, nothing written`;
  return [
    ...(['control', 'PostgreSQL', 'NATS'] as const).map((program) =>
      figure(
        `${what}: ${program}, of one core`,
        (100 * use.trees[program].ranMs) / use.tookMs,
        '%',
      ),
    ),
    figure(`${what}: NATS`, natsKibPerSecond, 'KiB/s'),
  ];
}
