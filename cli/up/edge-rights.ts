import { spawnSync } from 'node:child_process';

/** What nftables, conntrack, raw sockets and the early drop ask for, and nothing else of root. */
const CAPABILITIES = ['net_admin', 'net_raw', 'bpf', 'perfmon'];

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Runs a program as root with nothing of root but what an edge needs, and no way to get more. Where the
 * checkout is closed to others (a home directory), root without its overrides could not even read it:
 * reading past permissions is added then, writing never is.
 */
export function withEdgeRights(program: string, args: readonly string[]): Launch {
  if (process.getuid?.() !== 0) return { command: program, args };
  const readable = tryLaunch(limited(CAPABILITIES, 'test', ['-r', args[0] ?? program]));
  const capabilities = readable ? CAPABILITIES : [...CAPABILITIES, 'dac_read_search'];
  return limited(capabilities, program, args);
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
