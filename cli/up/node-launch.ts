import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_VARIABLE, type NodeConfig } from '@portcullis/node/config.ts';
import { withRights } from './rights.ts';
import type { ChildSpec } from './supervised.ts';

const NODE_MAIN = join(import.meta.dirname, '..', '..', 'node', 'main.ts');

/**
 * Of root, what a node needs: to give servers' folders to whom games run as and still get into them, to start and end
 * processes as that account, and the firewall that keeps containers from the host and from each other. The engine's
 * socket is root's own.
 */
const CAPABILITIES = ['chown', 'dac_override', 'fowner', 'setuid', 'setgid', 'kill', 'net_admin'];

/** The node's process, with the rights of a node and no more. */
export function nodeProcess(config: NodeConfig, env: NodeJS.ProcessEnv): ChildSpec {
  const { PORTCULLIS_NODE_CREDENTIAL: _, ...rest } = env;
  return {
    name: 'node',
    ...withRights(CAPABILITIES, process.execPath, [NODE_MAIN]),
    env: {
      NODE_COMPILE_CACHE: join(config.stateDir, 'compiled'),
      ...rest,
      // Not as an argument: every process list shows those.
      [CONFIG_VARIABLE]: JSON.stringify(config),
    },
  };
}

/** As root, games are another account, which must get through to its folders and sees nothing on the way. */
export function prepareNodeFolder(stateDir: string): void {
  const asRoot = process.getuid?.() === 0;
  mkdirSync(stateDir, { recursive: true, mode: asRoot ? 0o711 : 0o700 });
}
