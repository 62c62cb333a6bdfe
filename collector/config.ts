import { type Static, Type } from 'typebox';
import { readProcessConfig } from '@portcullis/agent/process-config.ts';

/** The configuration of a collector process. Control sends everything else. */
const ConfigSchema = Type.Object({
  name: Type.String({ minLength: 1 }),
  /** The Unix socket of the control plane. */
  linkPath: Type.String({ minLength: 1 }),
  credential: Type.String({ minLength: 1 }),
});
export type CollectorConfig = Static<typeof ConfigSchema>;

export const CONFIG_VARIABLE = 'PORTCULLIS_COLLECTOR_CONFIG';

/** Reads JSON from the environment, because arguments are visible in process lists. Throws with the reason. */
export function readConfig(env: NodeJS.ProcessEnv): CollectorConfig {
  const text = env[CONFIG_VARIABLE];
  if (text === undefined) throw new Error(`a collector needs ${CONFIG_VARIABLE}`);
  return readProcessConfig(ConfigSchema, text);
}
