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

/** Below the root of the repository. */
const FILE = join('bench', 'results', 'mitigation-runs.json');

export function loadJudged(root: string): readonly Judged[] {
  const path = join(root, FILE);
  if (!existsSync(path)) return [];
  return (JSON.parse(readFileSync(path, 'utf8')) as { readonly runs: readonly Judged[] }).runs;
}

/** Those of the same attack in the same setting are replaced; a run a line. */
export function saveJudged(root: string, runs: readonly Judged[]): readonly Judged[] {
  const all = new Map([...loadJudged(root), ...runs].map((run) => [keyOf(run), run]));
  const lines = [...all.values()].map((run) => `    ${JSON.stringify(run)}`);
  const text = `{\n  "command": "npm run bench -- mitigation",\n  "runs": [\n${lines.join(',\n')}\n  ]\n}\n`;
  writeFileSync(join(root, FILE), text);
  return [...all.values()];
}

function keyOf(run: Judged): string {
  return `${describeSetting(run)}: ${run.verdict.name}`;
}
