import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { skipUnless } from '../requirements.ts';
import { root } from './sources.ts';

const FOLDER = join(root, 'examples', 'operators');
const read = (...path: readonly string[]): string => readFileSync(join(root, ...path), 'utf8');
const alerts = parse(read('examples', 'operators', 'alerts.yml')) as {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
};
const names = alerts.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));

test('alerts and the dashboard use metrics that exist', () => {
  const known = new Set(read('docs', 'metrics.md').match(/\bportcullis_[a-z_]+/g));
  for (const file of ['alerts.yml', 'dashboard.json']) {
    const used = read('examples', 'operators', file).match(/\bportcullis_[a-z_]+/g) ?? [];
    assert.ok(used.length > 10, file);
    for (const name of used) assert.ok(known.has(name.replace(/_bucket$/, '')), `${file}: ${name}`);
  }
});

test('the runbook has a section for every alert, and no other', () => {
  const sections = [...read('docs', 'runbook.md').matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
  assert.deepEqual(sections, names);
});

test('every alert fires when its promise is broken, and none while all is well', {
  skip: skipUnless(['promtool']),
}, () => {
  for (const args of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: FOLDER,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  }
  const fired = /exp_samples: \[\{ value: (\d+) \}\]/.exec(
    read('examples', 'operators', 'alerts.test.yml'),
  );
  assert.equal(Number(fired?.[1]), names.length);
});
