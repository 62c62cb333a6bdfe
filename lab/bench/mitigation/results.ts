import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdict } from '../../floods/judging/verdict.ts';
import { describeSetting, type Setting } from './options.ts';

/** A verdict, where it was measured, and when. */
export interface Judged extends Setting {
  readonly date: string;
  readonly cores: number;
  readonly verdict: Verdict;
}

/** Below the root of the repository: a run a line. */
const FILE = join('bench', 'results', 'mitigation-runs.jsonl');

export function loadJudged(root: string): readonly Judged[] {
  const path = join(root, FILE);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Judged);
}

/** Saves results: those of the same attack in the same setting are replaced. */
export function saveJudged(root: string, runs: readonly Judged[]): readonly Judged[] {
  const all = new Map([...loadJudged(root), ...runs].map((run) => [keyOf(run), run]));
  const text = [...all.values()].map((run) => `${JSON.stringify(run)}\n`).join('');
  writeFileSync(join(root, FILE), text);
  return [...all.values()];
}

function keyOf(run: Judged): string {
  return `${describeSetting(run)}: ${run.verdict.name}`;
}
