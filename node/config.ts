import { BlockList } from 'node:net';
import { filled, readProcessConfig } from '@portcullis/agent/process-config.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import {
  array,
  boolean,
  integer,
  nullable,
  object,
  oneOf,
  type Static,
  text,
  withDefault,
} from '@portcullis/link/messages/schema.ts';
import { checkMounts } from './server/mounts.ts';
import { checkAccounts } from './server-folder/account-range.ts';

/** The configuration of a node's process. */
const configSchema = object({
  name: filled,
  /** The Unix socket on which the control plane serves nodes. */
  linkPath: filled,
  /** Authenticates this node to control; a secret. */
  credential: filled,
  /** The node's own directory: its journal, and the folders of its servers. */
  stateDir: filled,
  /** `both`: what comes with Portcullis runs as a plain process, everything else in Docker. */
  engine: oneOf('docker', 'process', 'both'),
  /** In the form of `DOCKER_HOST`, `unix:///run/docker.sock`; used by the Docker engine only. */
  dockerHost: filled,
  /** Whether a present image is requested from its registry: at each start, or never. Docker engine only. */
  imagePull: oneOf('always', 'missing'),
  /** Networks (CIDR) that servers must not reach, such as that of a remote control plane; Docker engine only. */
  closedNetworks: array(filled, 10_000),
  /** Private networks (CIDR) that servers may reach; Docker engine only. */
  openNetworks: array(filled, 10_000),
  /** The uids and gids of the servers, one each; used if the agent is root. */
  accounts: object({ first: integer(1, 2 ** 32), last: integer(1, 2 ** 32) }),
  /** Folders of this host for servers that name them; Docker engine only. */
  mounts: array(object({ path: filled, readOnly: boolean }), 64),
  /** Where people connect to the files of servers by SFTP; null: nowhere. */
  sftp: nullable(object({ host: text(255), port: integer(0, 65_535) })),
  /** Where the node serves links to files, and the URL of that; `tls` null: a proxy in front speaks TLS. Null: nowhere. */
  files: withDefault(
    nullable(
      object({
        host: text(255),
        port: integer(0, 65_535),
        url: text(900),
        tls: nullable(object({ cert: filled, key: filled })),
      }),
    ),
    null,
  ),
  /** The fate of the servers when the node stops; a killed node always leaves them running. */
  onStop: oneOf('leave', 'end'),
});
export type NodeConfig = Static<typeof configSchema>;

export const CONFIG_VARIABLE = 'PORTCULLIS_NODE_CONFIG';
export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

/** Reads JSON from the environment, because a process list shows arguments. Throws if it is invalid. */
export function readConfig(env: NodeJS.ProcessEnv): NodeConfig {
  const text = env[CONFIG_VARIABLE];
  if (text === undefined) throw new Error(`a node needs its configuration in ${CONFIG_VARIABLE}`);
  const config = readProcessConfig(configSchema, text);
  return {
    ...config,
    accounts: checkAccounts(config.accounts),
    mounts: [...checkMounts(config.mounts, config.stateDir)],
    closedNetworks: canonicalNetworks(config.closedNetworks),
    openNetworks: canonicalNetworks(config.openNetworks),
  };
}

/** Parses `[ADDRESS:]PORT`, or `off`. Throws on anything else. */
export function parseSftpListen(value: string): NodeConfig['sftp'] {
  if (value === 'off') return null;
  const { host = '::', port = '' } =
    /^(?:\[?(?<host>[0-9a-fA-F.:]+)\]?:)?(?<port>\d{1,5})$/.exec(value)?.groups ?? {};
  if (port === '' || Number(port) > 65_535) throw new Error('it is [ADDRESS:]PORT, or off');
  return { host, port: Number(port) };
}

/** Texts that say where links to files are served; null: not given. */
export interface FilesServed {
  readonly listen: string | null;
  readonly url: string | null;
  /** The PEM files of the certificate. */
  readonly cert: string | null;
  readonly key: string | null;
}

/** Parses where links to files are served. Throws on what callers cannot reach safely. */
export function parseFilesServed({ listen, url, cert, key }: FilesServed): NodeConfig['files'] {
  const place = listen === null ? null : parseSftpListen(listen);
  if (place === null && url === null && cert === null && key === null) return null;
  if (place === null || url === null)
    throw new Error('where to listen and the URL are both needed');
  if ((cert === null) !== (key === null))
    throw new Error('the certificate and its key are both needed');
  const parsed = url.length <= 900 ? URL.parse(url) : null;
  const isPlain = parsed?.search === '' && parsed.hash === '' && parsed.username === '';
  if (parsed?.protocol !== 'https:' || !isPlain) throw new Error('the URL is https://NAME[/PATH]');
  const tls = cert === null || key === null ? null : { cert, key };
  if (tls === null && !PRIVATE.check(place.host, place.host.includes(':') ? 'ipv6' : 'ipv4')) {
    const detail = 'listen on loopback or a private address, with a proxy in front';
    throw new Error(`without a certificate it is plain HTTP: ${detail}`);
  }
  return { ...place, url: parsed.href, tls };
}

/** Loopback and private addresses. */
const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv4');
PRIVATE.addSubnet('::1', 128, 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

/** Parses a comma-separated list. Throws on an entry that is not a network. */
export function parseNetworks(text: string): string[] {
  return canonicalNetworks(
    text
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean),
  );
}

/** Formats each network canonically, because it becomes part of an nftables script. */
function canonicalNetworks(networks: readonly string[]): string[] {
  return networks.map((one) => {
    const network = parseCidr(one);
    if (!network.ok) throw new Error(`a network is invalid: ${network.reason}`);
    return formatNetwork(network.value);
  });
}
