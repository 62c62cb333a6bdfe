import {
  GOALS,
  HELD_UP_MS,
  percent,
  type Served,
  type Verdict,
} from '../../floods/judging/verdict.ts';
import type { Row } from '../report.ts';
import { describeSetting } from './options.ts';
import type { Judged } from './results.ts';

const HEAD = [
  'attack',
  'record',
  'detected + in kernel',
  'passed',
  'after 2 s',
  'old',
  'new',
  'kept',
  'tcp',
  'missed',
] as const;

export function groupsOf(runs: readonly Judged[]): ReadonlyMap<string, readonly Judged[]> {
  return Map.groupBy(runs, describeSetting);
}

/** One line an attack, as of a Markdown table. */
export function tableOf(runs: readonly Judged[]): string[] {
  return [rowOf(HEAD), rowOf(HEAD.map(() => '---')), ...runs.map((run) => rowOf(cellsOf(run)))];
}

/** How many attacks met each goal, a row for each setting. */
export function goalTable(runs: readonly Judged[]): string[] {
  const head = ['setting', 'attacks', 'met every goal', ...MEASURES.map(({ short }) => short)];
  const rows = [...groupsOf(runs)].map(([setting, members]) =>
    rowOf([
      setting,
      String(members.length),
      String(members.filter(({ verdict }) => verdict.misses.length === 0).length),
      ...MEASURES.map(({ met }) => {
        const known = members.flatMap(({ verdict }) => met(verdict) ?? []);
        return known.length === 0 ? '' : `${known.filter(Boolean).length} of ${known.length}`;
      }),
    ]),
  );
  return [rowOf(head), rowOf(head.map(() => '---')), ...rows];
}

/** For each setting and each goal, the number of attacks that met it. */
export function goalRows(runs: readonly Judged[]): Row[] {
  return [...groupsOf(runs)].flatMap(([setting, members]) =>
    MEASURES.flatMap(({ name, met }): Row[] => {
      const known = members.flatMap(({ verdict }) => met(verdict) ?? []);
      if (known.length === 0) return [];
      return [
        {
          name: `${setting}: ${name}`,
          value: known.filter(Boolean).length,
          unit: 'attacks',
          baseline: null,
          goal: known.length,
        },
      ];
    }),
  );
}

interface Measure {
  readonly name: string;
  readonly short: string;
  /** Null where there is nothing to measure. */
  readonly met: (verdict: Verdict) => boolean | null;
}

const MEASURES: readonly Measure[] = [
  {
    name: `at most ${percent(GOALS.passedAfter)} passed after two seconds`,
    short: 'passed',
    met: ({ passedAfter }) => (passedAfter === null ? null : passedAfter <= GOALS.passedAfter),
  },
  ...(['old', 'new', 'kept', 'tcp', 'busy', 'crowd'] as const).map(
    (kind): Measure => ({
      name: `${percent(GOALS[kind])} of ${kind} served`,
      short: kind,
      met: ({ clients }) => {
        const { sent, served } = clients[kind];
        return sent === 0 ? null : served / sent >= GOALS[kind];
      },
    }),
  ),
  {
    name: 'as many records as attacks',
    short: 'records',
    met: ({ misses }) => !misses.some((one) => one.endsWith('records')),
  },
];

function cellsOf({ verdict }: Judged): readonly string[] {
  const { name, passed, passedAfter, passedAfterPps, clients, misses } = verdict;
  const after = passedAfter === null ? '' : `${percent(passedAfter)}, ${pps(passedAfterPps)}`;
  const more = [clients.busy, clients.crowd].filter(({ sent }) => sent > 0).map(served);
  return [
    `${name}${verdict.heldUpMs > HELD_UP_MS ? ' *' : ''}`,
    typesOf(verdict),
    timesOf(verdict),
    passed === null ? '' : percent(passed),
    after,
    [served(clients.old), ...more].join('; '),
    served(clients.new),
    served(clients.kept),
    served(clients.tcp),
    misses.length === 0 ? '' : `**missed:** ${misses.join(', ')}`,
  ];
}

/** Types of the record, and beside it what was sent if it is another. */
function typesOf({ types, expectedType }: Verdict): string {
  if (types.length === 0) return 'none';
  const isExpected = expectedType === null || types.includes(expectedType);
  return `${types.join(', ')}${isExpected ? '' : ` (sent: ${expectedType})`}`;
}

function timesOf({ detectedMs, kernelMs }: Verdict): string {
  if (kernelMs === null) return detectedMs === null ? '' : `${seconds(detectedMs)}, never`;
  return detectedMs === null
    ? seconds(kernelMs)
    : `${seconds(detectedMs)} + ${seconds(kernelMs - detectedMs)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function pps(value: number | null): string {
  return `${Math.round(value ?? 0)}/s`;
}

function served({ sent, served: got, p95Ms }: Served): string {
  const wait = p95Ms !== null && p95Ms >= 200 ? ` ${seconds(p95Ms)}` : '';
  return `${got}/${sent}${wait}`;
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
