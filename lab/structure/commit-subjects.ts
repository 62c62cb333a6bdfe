import { spawnSync } from 'node:child_process';

/** The commit since which subjects are held to the limit of CONTRIBUTING.md. */
const SINCE = 'd9bd2ed7cb14f23ad030c22f75ce6e6de74bfb22';
const MAX_LENGTH = 72;

/** Subjects that are too long, or the reason why none can be read here. */
export type SubjectCheck =
  | { readonly ok: true; readonly long: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/** Reads the subjects of all commits since one, merges excepted: git words those. */
export function checkSubjects(folder: string, since = SINCE): SubjectCheck {
  const git = (...args: readonly string[]) =>
    spawnSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
  // A shallow clone, a package and a copy without its history lack the commit.
  if (git('merge-base', '--is-ancestor', since, 'HEAD').status !== 0)
    return { ok: false, reason: `there is no git here, or its history ends after ${since}` };
  const log = git('log', '--no-merges', '--format=%h %s', `${since}..HEAD`);
  if (log.status !== 0) return { ok: false, reason: log.stderr.trim() };
  const long = new RegExp(`^\\S+ .{${MAX_LENGTH + 1},}$`, 'u');
  return { ok: true, long: log.stdout.split('\n').filter((line) => long.test(line)) };
}

if (import.meta.main) {
  const checked = checkSubjects('.');
  if (!checked.ok) console.log(`not checked: ${checked.reason}`);
  else for (const line of checked.long) console.log(`more than ${MAX_LENGTH} characters: ${line}`);
  process.exitCode = checked.ok && checked.long.length > 0 ? 1 : 0;
}
