import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkSubjects } from './commit-subjects.ts';

test('a subject of more than 72 characters is found, one of 72 and one of a merge are not', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-subjects-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
    });
  const commit = (subject: string) =>
    git('commit', '-q', '--allow-empty', '-m', subject, '-m', 'b'.repeat(100));
  git('init', '-q', '-b', 'main');
  commit('x'.repeat(100));
  const since = git('rev-parse', 'HEAD').trim();
  git('switch', '-q', '-c', 'other');
  commit('é'.repeat(72));
  git('switch', '-q', 'main');
  commit('x'.repeat(73));
  git('merge', '-q', '--no-ff', '-m', 'm'.repeat(90), 'other');
  const found = checkSubjects(folder, since);
  assert.ok(found.ok);
  assert.deepEqual(
    found.long.map((line) => line.replace(/^\S+ /, '')),
    ['x'.repeat(73)],
  );
});

test('a history without the commit is not checked, and says so', () => {
  const checked = checkSubjects(tmpdir());
  assert.ok(!checked.ok);
  assert.match(checked.reason, /no git here/);
});
