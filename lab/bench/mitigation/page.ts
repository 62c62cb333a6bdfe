import { replaceMade } from '../../detection/page.ts';
import { FLOOD_PPS, FLOOD_SECONDS, THRESHOLDS } from '../../floods/attacks/attack.ts';
import { ATTACKS } from '../../floods/attacks/table.ts';
import { goalTable, groupsOf, tableOf } from './tables.ts';
import type { Judged } from './results.ts';

const COMMAND = 'npm run bench -- mitigation --docs';

/** docs/detection.md with the tables of mitigations made anew; everything else in it is written by hand. */
export function renderMitigations(page: string, runs: readonly Judged[]): string {
  return replaceMade(page, COMMAND, tables(runs.toSorted((a, b) => placeOf(a) - placeOf(b))));
}

/** Ordered by setting, then as the attacks stand in the table. */
function placeOf({ plane, family, control, killsAgent, verdict }: Judged): number {
  const flags = [killsAgent, plane === 'nftables', control === 'away', family === 6];
  const setting = flags.reduce((sum, flag) => 2 * sum + Number(flag), 0);
  return setting * 1_000 + ATTACKS.findIndex(({ name }) => name === verdict.name);
}

function tables(runs: readonly Judged[]): string {
  const dates = [...new Set(runs.map(({ date }) => date))].toSorted();
  const cores = [...new Set(runs.map((run) => run.cores))];
  const { pps, mbps, holdSeconds } = THRESHOLDS;
  const measured = `Measured on ${dates.join(' and ')} on a machine of ${cores.join(' and ')} cores that did other work too.`;
  const floods = `Thresholds ${pps} packets/s and ${mbps} Mbit/s, hold time ${holdSeconds} s; floods of ${FLOOD_PPS} packets/s for ${FLOOD_SECONDS} s unless their name says otherwise.`;
  const details = [...groupsOf(runs)].flatMap(([setting, members], index) =>
    index === 0
      ? ['', `Every attack, ${setting}:`, '', ...tableOf(members)]
      : ['', `${setting}, where a goal was missed:`, '', ...tableOf(missed(members))],
  );
  return [`${measured} ${floods}`, '', ...goalTable(runs), ...details].join('\n');
}

function missed(runs: readonly Judged[]): readonly Judged[] {
  return runs.filter(({ verdict }) => verdict.misses.length > 0);
}
