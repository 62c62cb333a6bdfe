import { join } from 'node:path';
import { type CollectorConfig, CONFIG_VARIABLE } from '@portcullis/collector/config.ts';
import { withoutRights } from './rights.ts';
import type { ChildSpec } from './supervised.ts';

const COLLECTOR_MAIN = join(import.meta.dirname, '..', '..', 'collector', 'main.ts');

/** The process of a collector: it reads what networks send, so it has no rights at all. */
export function collectorProcess(config: CollectorConfig, env: NodeJS.ProcessEnv): ChildSpec {
  const { DATABASE_URL: _, PORTCULLIS_COLLECTOR_CREDENTIAL: __, ...rest } = env;
  return {
    name: `collector ${config.name}`,
    ...withoutRights(process.execPath, [COLLECTOR_MAIN]),
    // Not as an argument: every process list shows those.
    env: { ...rest, [CONFIG_VARIABLE]: JSON.stringify(config) },
  };
}
