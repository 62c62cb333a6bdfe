import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { EngineError } from '../../engine.ts';
import { type GuardPlan, LINK_LOCAL, parseResolvers, renderGuard } from './guard-rules.ts';

/** Keeps servers away from the host and from each other; see guard-rules.ts. */
export interface HostGuard {
  /** Puts the whole table in place, in one transaction. Rejects with `refused` when it could not: start nothing then. */
  apply(plan: Pick<GuardPlan, 'table' | 'bridges' | 'published'>): Promise<void>;
}

export interface GuardOptions {
  /** The nft command in the network namespace of the engine. */
  readonly command?: readonly [string, ...string[]];
  /** Networks that no server may speak to beside link-local ones. */
  readonly closed?: readonly string[];
  /** What names are asked of; this host's unless said. */
  readonly resolvers?: () => Promise<readonly string[]>;
}

const NFT_MS = 10_000;
const MAX_SAID = 2_000;

export function createGuard({
  command = ['nft'],
  closed = [],
  resolvers = loadResolvers,
}: GuardOptions = {}): HostGuard {
  return {
    apply: async (plan) => {
      const whole = {
        ...plan,
        resolvers: await resolvers(),
        closed: [...LINK_LOCAL, ...closed],
      };
      await run(command, renderGuard(whole));
    },
  };
}

async function run(command: readonly [string, ...string[]], script: string): Promise<void> {
  const [program, ...args] = command;
  const nft = spawn(program, [...args, '-f', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: NFT_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  nft.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk}`.slice(0, MAX_SAID)));
  // It may end before it read everything.
  nft.stdin.on('error', () => undefined);
  nft.stdin.end(script);
  try {
    const [code] = (await once(nft, 'close')) as [number | null];
    if (code !== 0) throw new Error(said || `nft ended with ${code ?? 'a signal'}`);
  } catch (error) {
    throw new EngineError(
      'refused',
      'The firewall that keeps servers apart could not be put in place, so nothing is started.',
      { cause: error },
    );
  }
}

const RESOLV_CONF = '/etc/resolv.conf';
/** What stands behind systemd's 127.0.0.53; Docker reads it there too. */
const SYSTEMD_CONF = '/run/systemd/resolve/resolv.conf';

/** As Docker hands them to containers. Some clouds have theirs at a link-local address. */
async function loadResolvers(): Promise<string[]> {
  const named = await Promise.all([RESOLV_CONF, SYSTEMD_CONF].map(namedIn));
  return [...new Set(named.flat())];
}

async function namedIn(path: string): Promise<string[]> {
  return parseResolvers(await readFile(path, 'utf8').catch(() => ''));
}
