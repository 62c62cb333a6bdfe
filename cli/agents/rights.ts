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
 * Whether root with the capabilities of `withRights` for this program file may enter (`-x`) or write (`-w`) a folder. The
 * kernel is asked: it knows ACLs and mounts.
 */
export function mayUse(
  capabilities: readonly string[],
  file: string,
  [how, folder]: readonly ['-x' | '-w', string],
): boolean {
  // The first word decides about the capability to read; as a condition it is always true.
  const condition = [file, '-ef', file, '-a', how, folder];
  const { command, args } = withRights(capabilities, 'test', condition);
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/**
 * Without its capabilities, even root cannot read a checkout that is closed to others, such as in a home directory. The
 * capability to read past permissions is then added; the one to write never is.
 */
function restrict(
  capabilities: readonly string[],
  program: string,
  args: readonly string[],
  optionsOf: (set: string) => readonly string[],
): Launch {
  if (process.getuid?.() !== 0) return { command: program, args };
  const launch = (names: readonly string[], ...command: readonly string[]): Launch => {
    const set = ['-all', ...names.map((name) => `+${name}`)].join(',');
    return { command: 'setpriv', args: [...optionsOf(set), '--no-new-privs', '--', ...command] };
  };
  const probe = launch(capabilities, 'test', '-r', args[0] ?? program);
  const isReadable = spawnSync(probe.command, probe.args, { stdio: 'ignore' }).status === 0;
  return launch(isReadable ? capabilities : [...capabilities, 'dac_read_search'], program, ...args);
}
