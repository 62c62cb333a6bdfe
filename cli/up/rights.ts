import { spawnSync } from 'node:child_process';

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Runs a program as root with nothing of root but these capabilities, and no way to get more. Where the
 * checkout is closed to others (a home directory), root without its overrides could not even read it:
 * reading past permissions is added then, writing never is.
 */
export function withRights(
  capabilities: readonly string[],
  program: string,
  args: readonly string[],
): Launch {
  if (process.getuid?.() !== 0) return { command: program, args };
  const readable = tryLaunch(limited(capabilities, 'test', ['-r', args[0] ?? program]));
  return limited(readable ? capabilities : [...capabilities, 'dac_read_search'], program, args);
}

function limited(
  capabilities: readonly string[],
  program: string,
  args: readonly string[],
): Launch {
  const set = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  const options = [`--bounding-set=${set}`, '--inh-caps=-all', '--no-new-privs'];
  return { command: 'setpriv', args: [...options, '--', program, ...args] };
}

function tryLaunch({ command, args }: Launch): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Of no account: systems hand out none from 65000 on but `nobody`, which the database may run as. */
const OF_NO_ACCOUNT = 65_533;

/**
 * Runs a program with no rights at all: as root, as an account that nobody has, which owns nothing. Where the checkout is closed to
 * others it may read past permissions, for it could not even start.
 */
export function withoutRights(program: string, args: readonly string[]): Launch {
  if (process.getuid?.() !== 0) return { command: program, args };
  const readable = tryLaunch(asStranger([], 'test', ['-r', args[0] ?? program]));
  return asStranger(readable ? [] : ['dac_read_search'], program, args);
}

function asStranger(
  capabilities: readonly string[],
  program: string,
  args: readonly string[],
): Launch {
  const set = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  const account = [`--reuid=${OF_NO_ACCOUNT}`, `--regid=${OF_NO_ACCOUNT}`, '--clear-groups'];
  const sets = ['bounding-set', 'inh-caps', 'ambient-caps'].map((name) => `--${name}=${set}`);
  return {
    command: 'setpriv',
    args: [...account, ...sets, '--no-new-privs', '--', program, ...args],
  };
}
