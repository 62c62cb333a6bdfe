import { relative } from 'node:path';
import type { Group } from './groups.ts';
import type { Outcome } from './report.ts';

/**
 * A second try for the few tests that measure times on a wire: two processors that a flood, its victim, the edge, control
 * and the database share are sometimes late. What passes then is not silent: it is told as unsteady, by name, with the
 * first failure, and is to be mended. A fault of the product that shows every time fails twice; many failures are no
 * lateness, so then nothing is tried again.
 */
export function filesToTryAgain(root: string, group: Group, ended: readonly Outcome[]): string[] {
  const failed = ended.filter(({ result }) => result === 'failed').map(({ file }) => file);
  const files = [...new Set(failed.map((file) => relative(root, file)))];
  // A group whose process died names the repository.
  const known = files.every((file) => group.files.includes(file));
  return known && files.length <= group.secondTries ? files : [];
}

/** Those of the first run, in which failures are unsteady where the whole file has passed now. */
export function afterSecondTry(first: readonly Outcome[], second: readonly Outcome[]): Outcome[] {
  const resultsOf = (path: string): Outcome['result'][] =>
    second.filter(({ file }) => file === path).map(({ result }) => result);
  const steadyNow = (path: string): boolean => {
    const results = resultsOf(path);
    return results.includes('passed') && !results.includes('failed');
  };
  return first.map((outcome) =>
    outcome.result === 'failed' && steadyNow(outcome.file)
      ? { ...outcome, result: 'unsteady' }
      : outcome,
  );
}
