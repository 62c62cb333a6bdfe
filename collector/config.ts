import { filled, readProcessConfig } from '@portcullis/agent/process-config.ts';
import { object } from '@portcullis/link/messages/schema.ts';

/** The configuration of a collector process. Control sends everything else. */
export interface CollectorConfig {
  readonly name: string;
  /** The Unix socket of the control plane. */
  readonly linkPath: string;
  readonly credential: string;
}

const configSchema = object<CollectorConfig>({
  name: filled,
  linkPath: filled,
  credential: filled,
});

export const CONFIG_VARIABLE = 'PORTCULLIS_COLLECTOR_CONFIG';

/** Reads JSON from the environment, because arguments are visible in process lists. Throws with the reason. */
export function readConfig(env: NodeJS.ProcessEnv): CollectorConfig {
  const text = env[CONFIG_VARIABLE];
  if (text === undefined) throw new Error(`a collector needs ${CONFIG_VARIABLE}`);
  return readProcessConfig(configSchema, text);
}
