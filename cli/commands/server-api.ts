import { callApi } from '../api.ts';
import { failed } from '../exit.ts';
import type { ServersOptions } from '../program/servers.ts';

/** Servers as the API shows them. */
export interface ListedServer {
  readonly uuid: string;
  readonly identifier: string | null;
  readonly name: string;
  readonly service_id: number;
  readonly provisioned: boolean;
  readonly limits: { readonly memory: number; readonly cpu: number; readonly disk: number };
}
export interface ServerDetail extends ListedServer {
  /** null: nobody knows, which is not offline. */
  readonly state: 'offline' | 'starting' | 'running' | 'stopping' | null;
  readonly resources: {
    readonly memory_bytes: number;
    readonly memory_limit_bytes: number;
    readonly cpu_absolute: number;
    readonly disk_bytes: number;
    readonly network_rx_bytes: number;
    readonly network_tx_bytes: number;
    readonly uptime: number;
  } | null;
}
export interface ServerBuild {
  readonly state: 'waiting' | 'building' | 'built' | 'failed';
  readonly reason: string | null;
  readonly log: string | null;
  readonly epoch: number;
  readonly node: string;
  readonly node_connected: boolean;
  readonly egg: string;
  readonly suspended: boolean;
  /** What is amiss with it now. */
  readonly problem: string | null;
  readonly allocation: { readonly ip: string; readonly port: number };
}

export interface ConsoleLines {
  readonly lines: readonly string[] | null;
  /** Of the last line; each has the next. */
  readonly last_number: number | null;
}

export async function loadServers(options: ServersOptions): Promise<readonly ListedServer[]> {
  const answer = await callApi(options, 'GET', '/api/v1/game-servers');
  return (answer as Envelope<readonly ListedServer[]>).data;
}

export async function loadDetail(options: ServersOptions, uuid: string): Promise<ServerDetail> {
  const answer = await callApi(options, 'GET', `/api/v1/game-servers/${uuid}`);
  return (answer as Envelope<ServerDetail>).data;
}

export async function loadBuild(options: ServersOptions, uuid: string): Promise<ServerBuild> {
  const answer = await callApi(options, 'GET', `/api/x1/game-servers/${uuid}/build`);
  return (answer as Envelope<ServerBuild>).data;
}

export async function loadLines(
  options: ServersOptions,
  uuid: string,
  lines: number,
): Promise<ConsoleLines> {
  const answer = await callApi(
    options,
    'GET',
    `/api/x1/game-servers/${uuid}/console?lines=${lines}`,
  );
  return (answer as Envelope<ConsoleLines>).data;
}

/** Throws what the node or control said against it. */
export async function instruct(
  options: ServersOptions,
  uuid: string,
  what: { readonly signal: string } | { readonly command: string },
): Promise<void> {
  const operation = 'signal' in what ? 'power' : 'command';
  await callApi(options, 'POST', `/api/v1/game-servers/${uuid}/${operation}`, what);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The uuid of a server that a person named. Throws when none is called so, or several are. */
export async function uuidOf(options: ServersOptions, named: string): Promise<string> {
  if (UUID.test(named)) return named.toLowerCase();
  const servers = (await loadServers(options)).filter(({ name }) => name === named);
  const [only, ...others] = servers;
  if (only === undefined) {
    throw failed(`the key sees no server ${named}: portcullis servers list shows them`);
  }
  if (others.length === 0) return only.uuid;
  const uuids = servers.map(({ uuid }) => uuid).join(', ');
  throw failed(`several servers are called ${named}; name one by its uuid: ${uuids}`);
}

/** What every answer of the API has its content in. */
interface Envelope<T> {
  readonly data: T;
}
