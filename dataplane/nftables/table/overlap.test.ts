import assert from 'node:assert/strict';
import { it } from 'node:test';
import { edgeRules } from '../../testing/policies.ts';
import { planLayout } from './layout.ts';
import { overlapWith } from './overlap.ts';
import { renderWhole } from './render.ts';

it('a table in place of another has the hook that judges again before all else, and its rules behind all else', () => {
  const layout = planLayout(edgeRules(), new Map(), { version: '', sets: {} });
  const lines = renderWhole(layout, overlapWith(layout.rules)).text.trimEnd().split('\n');
  const first = lines.findIndex((line) => line.startsWith('add chain inet portcullis judge_again'));
  assert.deepEqual(lines.slice(0, first), [
    'add table inet portcullis',
    'delete table inet portcullis',
    'add table inet portcullis',
  ]);
  assert.match(lines[first] ?? '', /hook prerouting priority -149/);
  assert.match(lines.at(-1) ?? '', /^add rule inet portcullis judge_again goto judge4/);
});
