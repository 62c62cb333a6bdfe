import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterSecondTry, filesToTryAgain } from './again.ts';
import type { Group } from './groups.ts';
import { type Outcome, summarise } from './report.ts';

const ROOT = '/project';
const SYSTEM: Group = {
  name: 'system',
  files: ['lab/a.test.ts', 'lab/b.test.ts', 'lab/c.test.ts'],
  isolation: 'process',
  concurrency: 1,
  timeoutMs: 1,
  fileLimitMs: 1,
  limitMs: 1,
  secondTries: 2,
  needsDatabase: false,
};

describe('a second try of failed tests', () => {
  it('is given to the files that failed, once each', () => {
    const ended = [outcome('a', 'failed'), outcome('a', 'failed'), outcome('b', 'passed')];
    assert.deepEqual(filesToTryAgain(ROOT, SYSTEM, ended), ['lab/a.test.ts']);
  });

  it('is not given to a group that allows none, to more files than allowed, or to a group that died', () => {
    const [a, b, c] = [outcome('a', 'failed'), outcome('b', 'failed'), outcome('c', 'failed')];
    assert.deepEqual(filesToTryAgain(ROOT, { ...SYSTEM, secondTries: 0 }, [a]), []);
    assert.deepEqual(filesToTryAgain(ROOT, SYSTEM, [a, b, c]), []);
    assert.deepEqual(filesToTryAgain(ROOT, SYSTEM, [a, { ...b, file: ROOT }]), []);
  });

  it('makes a failure unsteady only where the file passed then', () => {
    const first = [outcome('a', 'failed'), outcome('b', 'failed'), outcome('c', 'passed')];
    const second = [outcome('a', 'passed'), outcome('b', 'passed'), outcome('b', 'failed')];
    assert.deepEqual(results(afterSecondTry(first, second)), ['unsteady', 'failed', 'passed']);
  });

  it('takes no silence for passing: a file without a result, or with skipped tests alone, stays failed', () => {
    const first = [outcome('a', 'failed'), outcome('b', 'failed')];
    const second = [outcome('b', 'skipped')];
    assert.deepEqual(results(afterSecondTry(first, second)), ['failed', 'failed']);
  });

  it('is told by name and in the totals', () => {
    const told = summarise(ROOT, [outcome('a', 'unsteady'), outcome('c', 'passed')]);
    assert.deepEqual(told, [
      'unsteady: a test (lab/a.test.ts)',
      '',
      '1 passed, 0 failed, 0 skipped, 1 unsteady',
    ]);
  });
});

function outcome(file: string, result: Outcome['result']): Outcome {
  return { file: `${ROOT}/lab/${file}.test.ts`, name: 'a test', result, detail: '' };
}

function results(outcomes: readonly Outcome[]): Outcome['result'][] {
  return outcomes.map(({ result }) => result);
}
