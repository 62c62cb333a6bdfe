import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findFiles, planStages } from './suites.ts';

const root = mkdtempSync(join(tmpdir(), 'portcullis-suites-'));
const FILES = [
  'core/a.test.ts',
  'lab/drivers/driver.test.ts',
  'lab/journey/journey.test.ts',
  'lab/soak/long.test.ts',
  'lab/system/alone/measure.test.ts',
  'lab/system/stack.test.ts',
];

describe('the suites', () => {
  before(() => {
    write('package.json', JSON.stringify({ workspaces: ['core', 'lab'] }));
    for (const file of FILES) write(file, '');
    write('core/repeated.test.ts', "import '@portcullis/core/testing/repeated.ts';");
  });
  after(() => rmSync(root, { recursive: true }));

  it('divide the test files by folder', () => {
    assert.deepEqual(findFiles(root, ['test'], []), [
      'core/a.test.ts',
      'core/repeated.test.ts',
      'lab/journey/journey.test.ts',
    ]);
    assert.deepEqual(findFiles(root, ['soak'], []), [
      'core/repeated.test.ts',
      'lab/soak/long.test.ts',
    ]);
  });

  it('match a filter in every suite but the soak', () => {
    assert.deepEqual(findFiles(root, ['test'], ['lab/']), FILES.slice(1).filter(isNoSoak));
  });

  it('begin with the longest files of the system suite', () => {
    const longest = ['lab/system/machines/machines.test.ts', 'lab/portal/people.test.ts'];
    const [stage] = planStages(['lab/drivers/driver.test.ts', ...longest.toReversed()], false);
    assert.deepEqual(stage?.processes.flat(), [...longest, 'lab/drivers/driver.test.ts']);
  });

  it('run the files that need the machine to themselves last and one at a time', () => {
    const stages = planStages(FILES.filter(isNoSoak), false);
    const alone = stages.at(-1);
    assert.deepEqual(
      stages.map(({ name }) => name),
      ['test', 'system', 'alone'],
    );
    assert.equal(alone?.concurrency, 1);
    assert.deepEqual(alone.processes, [
      ['lab/journey/journey.test.ts'],
      ['lab/system/alone/measure.test.ts'],
    ]);
  });
});

function isNoSoak(file: string): boolean {
  return !file.startsWith('lab/soak/');
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
