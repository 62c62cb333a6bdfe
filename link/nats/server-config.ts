import { join } from 'node:path';
import { MAX_MESSAGE_BYTES } from '../transport/transport.ts';

export interface NatsServerConfig {
  /** The folder of its files on its host. An absolute one lets the server start from anywhere. */
  readonly folder: string;
  /** HOST:PORT; port -1 means any free one, which the server names in a file of the folder. */
  readonly listen: string;
  /** JWT of the operator. */
  readonly operator: string;
  /** JWTs of the accounts by their public name; the first may manage the others. */
  readonly accounts: Readonly<Record<string, string>>;
  /** Names of files in the folder; null: plain TCP. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string } | null;
  readonly cluster: {
    readonly listen: string;
    /** HOST:PORT of the other servers' cluster ports. */
    readonly routes: readonly string[];
  } | null;
}

/**
 * The configuration of nats-server 2.9 or newer. Accounts come from JWTs alone, so it admits nobody whom control did not
 * sign.
 */
export function renderServerConfig({
  folder,
  listen,
  operator,
  accounts,
  tls,
  cluster,
}: NatsServerConfig): string {
  const [system = ''] = Object.keys(accounts);
  const preloaded = Object.entries(accounts).map(([name, jwt]) => `  ${name}: ${jwt}`);
  const files =
    tls === null
      ? []
      : [
          'tls {',
          ...Object.entries({ cert_file: tls.cert, key_file: tls.key, ca_file: tls.ca }).map(
            ([name, file]) => `  ${name}: ${quoted(join(folder, file))}`,
          ),
          '}',
        ];
  return [
    `listen: ${quoted(listen)}`,
    `max_payload: ${MAX_MESSAGE_BYTES}`,
    `max_pending: ${MAX_MESSAGE_BYTES * 8}`,
    // A host that is cut off counts as gone after half a minute.
    'ping_interval: "10s"',
    'ping_max: 2',
    `operator: ${operator}`,
    `system_account: ${system}`,
    'resolver {',
    '  type: full',
    `  dir: ${quoted(join(folder, 'accounts'))}`,
    '}',
    'resolver_preload {',
    ...preloaded,
    '}',
    ...files,
    ...(cluster === null ? [] : renderCluster(cluster, files)),
    '',
  ].join('\n');
}

function renderCluster(
  { listen, routes }: NonNullable<NatsServerConfig['cluster']>,
  tls: readonly string[],
): string[] {
  return [
    'cluster {',
    '  name: portcullis',
    `  listen: ${quoted(listen)}`,
    `  routes: [${routes.map((route) => quoted(`nats-route://${route}`)).join(', ')}]`,
    ...tls.map((line) => `  ${line}`),
    '}',
  ];
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
