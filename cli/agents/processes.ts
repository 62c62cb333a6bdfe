import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CollectorConfig,
  CONFIG_VARIABLE as COLLECTOR_VARIABLE,
} from '@portcullis/collector/config.ts';
import { bpffsRoot, isBpffs } from '@portcullis/dataplane/xdp/devices/pins.ts';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import { CONFIG_VARIABLE as NODE_VARIABLE, type NodeConfig } from '@portcullis/node/config.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { RENEW_VARIABLE } from '@portcullis/agent/renewal.ts';
import { readableProgram } from '@portcullis/link/program/readable-program.ts';
import { saveCredential } from './credential-file.ts';
import { mayUse, withoutRights, withRights } from './rights.ts';
import { mountServers } from './server-mount.ts';

/** A process that reports over its IPC channel when it is ready. */
export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Holds the configuration: arguments are visible in process lists. */
  readonly env: NodeJS.ProcessEnv;
  /** Default: that of this process. */
  readonly cwd?: string;
  /**
   * Resolves when a program that does not report is ready. It may reject, or stay pending, when the signal tells that the
   * process ended.
   */
  readonly whenReady?: (pid: number, ended: AbortSignal) => Promise<void>;
}

/** For nftables, conntrack, raw sockets and the early drop. */
const EDGE_CAPABILITIES = ['net_admin', 'net_raw', 'bpf', 'perfmon'];
/** For the owners of server folders, processes of the servers' accounts, and the firewall of containers. */
const NODE_CAPABILITIES = [
  'chown',
  'dac_override',
  'fowner',
  'setuid',
  'setgid',
  'kill',
  'net_admin',
];

/** The command that runs a role from where it can read its files with fewer rights than this process has. */
export function programOf(
  role: 'control' | 'edge' | 'node' | 'collector',
): [command: string, args: readonly string[]] {
  const { root, node } = readableProgram();
  return [node, [join(root, role, 'main.ts')]];
}

export function edgeProcess(config: EdgeConfig, env: NodeJS.ProcessEnv): ProcessSpec {
  mountBpffs(bpffsRoot(env));
  const { PORTCULLIS_EDGE_CREDENTIAL: _, ...rest } = env;
  return {
    name: 'edge',
    ...withRights(EDGE_CAPABILITIES, ...programOf('edge')),
    env: {
      ...compileCache(config),
      ...rest,
      PORTCULLIS_EDGE_CONFIG: JSON.stringify(config),
    },
  };
}

/** Whether the edge that this process starts could enter (`-x`) or write (`-w`) a directory. */
export function mayEdgeUse(how: '-x' | '-w', folder: string): boolean {
  return mayUse(EDGE_CAPABILITIES, [how, folder]);
}

export function nodeProcess(config: NodeConfig, env: NodeJS.ProcessEnv): ProcessSpec {
  mountServers(config.stateDir);
  const { PORTCULLIS_NODE_CREDENTIAL: _, ...rest } = env;
  return {
    name: 'node',
    ...withRights(NODE_CAPABILITIES, ...programOf('node')),
    env: { ...compileCache(config), ...rest, [NODE_VARIABLE]: JSON.stringify(config) },
  };
}

/** A collector parses datagrams of the network, so it has no rights. */
export function collectorProcess(config: CollectorConfig, env: NodeJS.ProcessEnv): ProcessSpec {
  const { DATABASE_URL: _, PORTCULLIS_COLLECTOR_CREDENTIAL: __, ...rest } = env;
  return {
    name: `collector ${config.name}`,
    ...withoutRights(...programOf('collector')),
    env: { ...rest, [COLLECTOR_VARIABLE]: JSON.stringify(config) },
  };
}

export interface AgentRun {
  readonly onMessage?: (message: unknown) => void;
  readonly onStart?: (child: ChildProcess) => void;
  /** Where a credential is saved that control gives it; null: it stays. */
  readonly credentialFile: string | null;
}

/**
 * Runs an agent in the foreground until it exits or a signal stops it. With a credential of control it is started again:
 * what it enforces, and the servers of a node, stay meanwhile.
 */
export async function runAgent(
  specOf: (renewed: string | null) => ProcessSpec,
  { onMessage = () => {}, onStart = () => {}, credentialFile }: AgentRun,
): Promise<void> {
  let renewed: string | null = null;
  let isStopping = false;
  let child: ChildProcess | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopping = true;
      child?.kill('SIGTERM');
    });
  }
  for (;;) {
    const { name, command, args, env } = specOf(renewed);
    renewed = null;
    const asks = credentialFile === null ? {} : { [RENEW_VARIABLE]: '1' };
    const running = spawn(command, args, {
      env: { ...env, ...asks },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child = running;
    running.on('message', (message: unknown) => {
      const { kind, credential } = Object(message) as Record<string, unknown>;
      if (kind !== 'credential') return onMessage(message);
      if (credentialFile === null || typeof credential !== 'string') return;
      saveCredential(credentialFile, credential);
      renewed = credential;
      running.kill('SIGTERM');
    });
    onStart(running);
    const [code, signal] = (await once(running, 'exit')) as [number | null, string | null];
    if (renewed !== null && !isStopping) continue;
    if (code !== 0) throw failed(`the ${name} ended with ${signal ?? `exit code ${code}`}`);
    return;
  }
}

/** Only the node's own account may enter: what games write below it is nobody else's. */
export function prepareNodeFolder(stateDir: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  chmodSync(stateDir, 0o700);
}

/** Node's compile cache makes a restart a third of a second faster. */
function compileCache({ stateDir }: { readonly stateDir: string }): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: join(stateDir, 'compiled') };
}

/** Mounts the BPF file system where init has not. Without it the early drop stops with the agent, which reports that. */
function mountBpffs(folder: string): void {
  if (process.getuid?.() !== 0 || isBpffs(folder)) return;
  spawnSync('mount', ['-t', 'bpf', '-o', 'mode=0755', 'bpf', folder], { stdio: 'ignore' });
}
