import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';

/** What a node's process is told by whoever starts it. */
export interface NodeConfig {
  readonly name: string;
  /** The Unix socket on which the control plane serves nodes. */
  readonly linkPath: string;
  /** What control knows this node by; a secret. */
  readonly credential: string;
  /** The node's own: its journal, and the folders of its servers. */
  readonly stateDir: string;
  readonly engine: 'docker' | 'process';
  /** As `DOCKER_HOST` says it, `unix:///run/docker.sock`; only of the Docker engine. */
  readonly dockerHost: string;
  /** Networks (CIDR) that no server may speak to, such as that of a control plane elsewhere; only of the Docker engine. */
  readonly closedNetworks: readonly string[];
  /** What becomes of its servers when it is asked to stop; killed, it always leaves them running. */
  readonly onStop: 'leave' | 'end';
}

export const CONFIG_VARIABLE = 'PORTCULLIS_NODE_CONFIG';
export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

/** JSON from the environment: never an argument, for every process list shows those. Throws with what is wrong in it. */
export function readConfig(env: NodeJS.ProcessEnv): NodeConfig {
  const text = env[CONFIG_VARIABLE];
  if (text === undefined) throw new Error(`a node needs its configuration in ${CONFIG_VARIABLE}`);
  const fields = objectOf(JSON.parse(text));
  const engine = textOf(fields, 'engine');
  if (engine !== 'docker' && engine !== 'process') {
    throw new Error(`there is no engine ${JSON.stringify(engine)}: docker or process`);
  }
  return {
    name: textOf(fields, 'name'),
    linkPath: textOf(fields, 'linkPath'),
    credential: textOf(fields, 'credential'),
    stateDir: textOf(fields, 'stateDir'),
    engine,
    dockerHost: textOf(fields, 'dockerHost'),
    closedNetworks: networksOf(fields['closedNetworks'] ?? []),
    onStop: fields['onStop'] === 'end' ? 'end' : 'leave',
  };
}

/** As people write them, with commas. Throws with the one that is no network. */
export function parseNetworks(text: string): string[] {
  return networksOf(
    text
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean),
  );
}

/** In one spelling each: they become part of a firewall's script. */
function networksOf(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error('closedNetworks is no list');
  return value.map((one) => {
    const network = parseCidr(String(one));
    if (!network.ok) throw new Error(`a closed network is none: ${network.reason}`);
    return formatNetwork(network.value);
  });
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw new Error('the configuration is no object');
  return value as Readonly<Record<string, unknown>>;
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw new Error(`the configuration lacks ${name}`);
  return value;
}
