import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { EngineError } from '../../engine.ts';
import { type GuardPlan, parseResolvers, renderGuard } from './guard-rules.ts';

/** Isolates servers from the host and from other organisations; see guard-rules.ts. */
export interface HostGuard {
  /** Replaces the whole table in one transaction. Rejects with `refused` on failure: start nothing then. */
  apply(plan: Pick<GuardPlan, 'table' | 'bridges' | 'published'>): Promise<void>;
}

export interface GuardOptions {
  /** The nft command in the network namespace of the engine. */
  readonly command?: readonly [string, ...string[]];
  /** Networks that servers must not reach, in addition to what is not public. */
  readonly closed?: readonly string[];
  /** Networks that they may reach although they are not public. */
  readonly opened?: readonly string[];
  /** The DNS resolvers that servers may use; by default those of this host. */
  readonly resolvers?: () => Promise<readonly string[]>;
}

const NFT_MS = 10_000;
const MAX_STDERR = 2_000;

export function createGuard({
  command = ['nft'],
  closed = [],
  opened = [],
  resolvers = loadResolvers,
}: GuardOptions = {}): HostGuard {
  return {
    apply: async (plan) => {
      await run(command, renderGuard({ ...plan, resolvers: await resolvers(), closed, opened }));
    },
  };
}

async function run(command: readonly [string, ...string[]], script: string): Promise<void> {
  const [program, ...args] = command;
  const nft = spawn(program, [...args, '-f', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  // The timeout option of spawn leaks its timer if the program cannot be started.
  const timer = setTimeout(() => nft.kill('SIGKILL'), NFT_MS);
  // First, because one that could not be started may have no pipes, and an error that nobody hears ends the agent.
  const ended = once(nft, 'close') as Promise<[number | null]>;
  ended.catch(() => undefined);
  try {
    let stderr = '';
    nft.stderr.on('data', (chunk: Buffer) => (stderr = `${stderr}${chunk}`.slice(0, MAX_STDERR)));
    // nft may exit before it has read everything.
    nft.stdin.on('error', () => undefined);
    nft.stdin.end(script);
    const [code] = await ended;
    if (code !== 0) throw new Error(stderr || `nft ended with ${code ?? 'a signal'}`);
  } catch (error) {
    throw new EngineError(
      'refused',
      'The firewall that keeps servers apart could not be put in place, so nothing is started.',
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
}

const RESOLV_CONF = '/etc/resolv.conf';
/** The resolvers behind systemd's 127.0.0.53; Docker reads this file too. */
const SYSTEMD_CONF = '/run/systemd/resolve/resolv.conf';

/** The resolvers that Docker gives to containers; those of some clouds are link-local. */
async function loadResolvers(): Promise<string[]> {
  const found = await Promise.all([RESOLV_CONF, SYSTEMD_CONF].map(resolversIn));
  return [...new Set(found.flat())];
}

async function resolversIn(path: string): Promise<string[]> {
  return parseResolvers(await readFile(path, 'utf8').catch(() => ''));
}
