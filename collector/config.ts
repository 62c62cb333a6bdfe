/** The configuration of a collector process. Control sends everything else. */
export interface CollectorConfig {
  readonly name: string;
  /** The Unix socket of the control plane. */
  readonly linkPath: string;
  readonly credential: string;
}

export const CONFIG_VARIABLE = 'PORTCULLIS_COLLECTOR_CONFIG';

/** Reads JSON from the environment, because arguments are visible in process lists. Throws with the reason. */
export function readConfig(env: NodeJS.ProcessEnv): CollectorConfig {
  const text = env[CONFIG_VARIABLE];
  if (text === undefined) throw new Error(`a collector needs ${CONFIG_VARIABLE}`);
  const fields = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  const read = (name: string): string => {
    const value = fields[name];
    if (typeof value !== 'string' || value === '') {
      throw new Error(`the configuration lacks ${name}`);
    }
    return value;
  };
  return { name: read('name'), linkPath: read('linkPath'), credential: read('credential') };
}
