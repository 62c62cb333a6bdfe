import { spawnSync } from 'node:child_process';

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** An unused account: systems assign none from 65000 on except `nobody`. */
const UNUSED_ACCOUNT = 65_533;

/** Runs a program as root with only these capabilities and no way to gain more. */
export function withRights(
  capabilities: readonly string[],
  program: string,
  args: readonly string[],
): Launch {
  return restrict(capabilities, program, args, (set) => [
    `--bounding-set=${set}`,
    '--inh-caps=-all',
  ]);
}

/** Runs a program without any rights: as root, under an unused account, which owns no files. */
export function withoutRights(program: string, args: readonly string[]): Launch {
  const account = [`--reuid=${UNUSED_ACCOUNT}`, `--regid=${UNUSED_ACCOUNT}`, '--clear-groups'];
  return restrict([], program, args, (set) => [
    ...account,
    ...['bounding-set', 'inh-caps', 'ambient-caps'].map((name) => `--${name}=${set}`),
  ]);
}

/**
 * Runs a program that is none of ours, so that it ends with this process, however that ends. As root it has no rights, and
 * runs under the account.
 */
export function endingWithUs(
  account: { readonly uid: number; readonly gid: number } | null,
  program: string,
  args: readonly string[],
): Launch {
  const ending = ['--pdeathsig', 'TERM'];
  if (account === null || process.getuid?.() !== 0) {
    return { command: 'setpriv', args: [...ending, '--', program, ...args] };
  }
  return restrict([], program, args, (set) => [
    ...ending,
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    ...['bounding-set', 'inh-caps', 'ambient-caps'].map((name) => `--${name}=${set}`),
  ]);
}

/** Whether root with only these capabilities may enter (`-x`), write (`-w`) or read (`-r`) a path: the kernel is asked. */
export function mayUse(
  capabilities: readonly string[],
  [how, path]: readonly ['-x' | '-w' | '-r', string],
): boolean {
  const { command, args } = withRights(capabilities, 'test', [how, path]);
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function restrict(
  capabilities: readonly string[],
  program: string,
  args: readonly string[],
  optionsOf: (set: string) => readonly string[],
): Launch {
  if (process.getuid?.() !== 0) return { command: program, args };
  const set = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  return {
    command: 'setpriv',
    args: [...optionsOf(set), '--no-new-privs', '--', program, ...args],
  };
}
