import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';

/** The configuration of a node's process. */
export interface NodeConfig {
  readonly name: string;
  /** The Unix socket on which the control plane serves nodes. */
  readonly linkPath: string;
  /** Authenticates this node to control; a secret. */
  readonly credential: string;
  /** The node's own directory: its journal, and the folders of its servers. */
  readonly stateDir: string;
  readonly engine: 'docker' | 'process';
  /** In the form of `DOCKER_HOST`, `unix:///run/docker.sock`; used by the Docker engine only. */
  readonly dockerHost: string;
  /** When an image that is here already is asked for at its registry: at each start, or never. Docker engine only. */
  readonly imagePull: 'always' | 'missing';
  /** Networks (CIDR) that servers must not reach, such as that of a remote control plane; Docker engine only. */
  readonly closedNetworks: readonly string[];
  /** Private networks (CIDR) that servers may reach; Docker engine only. */
  readonly openNetworks: readonly string[];
  /** What happens to the servers when the node stops; a killed node always leaves them running. */
  readonly onStop: 'leave' | 'end';
}

/** The account that games run as if the agent is root: nobody's, so that games can touch no other files. */
export const GAME_ACCOUNT = { uid: 25_565, gid: 25_565 } as const;

export const CONFIG_VARIABLE = 'PORTCULLIS_NODE_CONFIG';
export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

/** Reads JSON from the environment, because a process list shows arguments. Throws if it is invalid. */
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
    imagePull: fields['imagePull'] === 'missing' ? 'missing' : 'always',
    closedNetworks: networksOf(fields['closedNetworks'] ?? []),
    openNetworks: networksOf(fields['openNetworks'] ?? []),
    onStop: fields['onStop'] === 'end' ? 'end' : 'leave',
  };
}

/** Parses a comma-separated list. Throws on an entry that is not a network. */
export function parseNetworks(text: string): string[] {
  return networksOf(
    text
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean),
  );
}

/** Formats each network canonically, because it becomes part of an nftables script. */
function networksOf(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error('the networks are not a list');
  return value.map((one) => {
    const network = parseCidr(String(one));
    if (!network.ok) throw new Error(`a network is invalid: ${network.reason}`);
    return formatNetwork(network.value);
  });
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw new Error('the configuration is not an object');
  return value as Readonly<Record<string, unknown>>;
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw new Error(`the configuration lacks ${name}`);
  return value;
}
