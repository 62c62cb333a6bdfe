import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import { bpffsRoot, isBpffs } from '@portcullis/dataplane/xdp/devices/pins.ts';
import { withRights } from './rights.ts';
import type { ChildSpec } from './supervised.ts';

/** What nftables, conntrack, raw sockets and the early drop ask for, and nothing else of root. */
const CAPABILITIES = ['net_admin', 'net_raw', 'bpf', 'perfmon'];

const EDGE_MAIN = join(import.meta.dirname, '..', '..', 'edge', 'main.ts');

/** The edge's process, with the rights of an edge and no more. */
export function edgeProcess(config: EdgeConfig, env: NodeJS.ProcessEnv): ChildSpec {
  mountBpffs(bpffsRoot(env));
  const launch = withRights(CAPABILITIES, process.execPath, [EDGE_MAIN]);
  return {
    name: 'edge',
    ...launch,
    env: {
      // What Node makes of our sources, for the next start: a third of a second sooner back after a kill.
      NODE_COMPILE_CACHE: join(config.stateDir, 'compiled'),
      ...env,
      // Not as an argument: every process list shows those.
      PORTCULLIS_EDGE_CONFIG: JSON.stringify(config),
    },
  };
}

/** systemd mounts it; other inits may not. Where it cannot be had, the early drop ends with its agent, and says so. */
function mountBpffs(folder: string): void {
  if (process.getuid?.() !== 0 || isBpffs(folder)) return;
  spawnSync('mount', ['-t', 'bpf', '-o', 'mode=0755', 'bpf', folder], { stdio: 'ignore' });
}
