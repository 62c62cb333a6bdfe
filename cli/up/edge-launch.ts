import { join } from 'node:path';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import { withEdgeRights } from './edge-rights.ts';
import type { ChildSpec } from './supervised.ts';

const EDGE_MAIN = join(import.meta.dirname, '..', '..', 'edge', 'main.ts');

/** The edge's process, with the rights of an edge and no more. */
export function edgeProcess(config: EdgeConfig, env: NodeJS.ProcessEnv): ChildSpec {
  const launch = withEdgeRights(process.execPath, [EDGE_MAIN]);
  return {
    name: 'edge',
    ...launch,
    // Not as an argument: every process list shows those.
    env: { ...env, PORTCULLIS_EDGE_CONFIG: JSON.stringify(config) },
  };
}
