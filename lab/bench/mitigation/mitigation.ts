import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DrawnAttack } from '../../floods/attacks/attack.ts';
import { drawAttacks } from '../../floods/attacks/draw.ts';
import { attacksOf } from '../../floods/attacks/table.ts';
import { type Done, TestBed } from '../../floods/judging/test-bed.ts';
import { judge } from '../../floods/judging/verdict.ts';
import { missing } from '../../requirements.ts';
import type { Bench } from '../report.ts';
import {
  describeSetting,
  type MitigationOptions,
  parseOptions,
  type Setting,
  settingsOf,
} from './options.ts';
import { renderMitigations } from './page.ts';
import { type Judged, saveJudged } from './results.ts';
import { goalRows, tableOf } from './tables.ts';

type Say = (line: string) => void;

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PAGE = join(ROOT, 'docs', 'detection.md');
/** Records end within the hold time. */
const ENDED_MS = 7_000;

/** Every drawn attack with clients beside it: what passed, and who was served. */
export const mitigationBench: Bench = {
  name: 'mitigation',
  takesOptions: true,
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool', 'postgres']),
  run: async (say, args) => {
    const options = parseOptions(args);
    // Also the priority of all that this process starts: what else the machine does keeps it waiting less.
    setPriority(-10);
    const judged: Judged[] = [];
    for (const [plane, settings] of Map.groupBy(settingsOf(options), (one) => one.plane))
      judged.push(...(await runPlane(plane, settings, options, say)));
    const all = options.seed === null ? saveJudged(ROOT, judged) : judged;
    for (const line of tableOf(judged)) say(line);
    if (options.writesDocs) writeFileSync(PAGE, renderMitigations(readFileSync(PAGE, 'utf8'), all));
    return { rows: goalRows(judged), details: judged };
  },
};

/** All settings of a data plane on one stack. */
async function runPlane(
  plane: Setting['plane'],
  settings: readonly Setting[],
  options: MitigationOptions,
  say: Say,
): Promise<readonly Judged[]> {
  const work = settings.map((setting) => ({ setting, attacks: attacksFor(setting, options) }));
  const runs = work.reduce((sum, { attacks }) => sum + attacks.length, 0);
  if (runs === 0) return [];
  if (options.seed !== null) say(`seed ${options.seed}`);
  const bed = await TestBed.start({ label: `mitigation-${plane}`, plane, runs });
  try {
    const judged: Judged[] = [];
    for (const { setting, attacks } of work) {
      say(`${describeSetting(setting)}: ${attacks.length} attacks`);
      judged.push(...(await runSetting(bed, setting, attacks, say)));
    }
    return judged;
  } finally {
    await bed.stop();
  }
}

function attacksFor({ family }: Setting, { seed, only }: MitigationOptions) {
  return seed === null ? attacksOf(family, only) : drawAttacks(seed);
}

async function runSetting(
  bed: TestBed,
  setting: Setting,
  attacks: readonly DrawnAttack[],
  say: Say,
): Promise<readonly Judged[]> {
  const isAway = setting.control === 'away';
  const done: Done[] = [];
  if (isAway) await bed.hangControl();
  for (const attack of attacks) {
    say(`${done.length + 1} of ${attacks.length}: ${attack.name}`);
    done.push(await bed.send(attack, setting.family, setting));
  }
  await pause(ENDED_MS);
  if (isAway) {
    const attacked = done.filter(({ run }) => run.attack.type !== null);
    await bed.restartControl(attacked.map(({ place }) => place));
  }
  const facts = {
    ...setting,
    date: new Date().toISOString().slice(0, 10),
    cores: availableParallelism(),
  };
  return Promise.all(
    done.map(async ({ run, place }): Promise<Judged> => {
      const verdict = judge(run, await bed.recordsOf(place));
      return { ...facts, verdict };
    }),
  );
}
