import type { ConsoleReading } from '@portcullis/core/game-servers/console-lines.ts';
import { callApi } from './api.ts';
import { failed } from './exit.ts';
import type { ApiOptions } from './options.ts';
import { commandLine } from './installation/command-line.ts';

export interface ListedServer {
  readonly uuid: string;
  readonly identifier: string | null;
  readonly name: string;
  readonly service_id: number;
  readonly provisioned: boolean;
  readonly limits: { readonly memory: number; readonly cpu: number; readonly disk: number };
}
export interface ServerDetail extends ListedServer {
  /** Null if the node does not answer, which does not mean offline. */
  readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'paused' | null;
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
  /** The current problem of the server. */
  readonly problem: string | null;
  readonly allocation: { readonly ip: string; readonly port: number };
  readonly open_while_running: boolean | readonly string[];
  readonly ports_open: boolean;
  readonly allocations: readonly {
    readonly ip: string;
    readonly port: number;
    readonly protocols: readonly string[];
    readonly name: string | null;
  }[];
}

export async function loadServers(options: ApiOptions): Promise<readonly ListedServer[]> {
  const answer = await callApi(options, 'GET', '/api/v1/game-servers');
  return (answer as Envelope<readonly ListedServer[]>).data;
}

export async function loadDetail(options: ApiOptions, uuid: string): Promise<ServerDetail> {
  const answer = await callApi(options, 'GET', `/api/v1/game-servers/${uuid}`);
  return (answer as Envelope<ServerDetail>).data;
}

export async function loadBuild(options: ApiOptions, uuid: string): Promise<ServerBuild> {
  const answer = await callApi(options, 'GET', `/api/x1/game-servers/${uuid}/build`);
  return (answer as Envelope<ServerBuild>).data;
}

export async function loadLines(
  options: ApiOptions,
  uuid: string,
  lines: number,
): Promise<ConsoleReading> {
  const answer = await callApi(
    options,
    'GET',
    `/api/x1/game-servers/${uuid}/console?lines=${lines}`,
  );
  return (answer as Envelope<ConsoleReading>).data;
}

/** Sends a power signal or a console command. Throws the reason if the node or control refuses. */
export async function sendInstruction(
  options: ApiOptions,
  uuid: string,
  instruction: { readonly signal: string } | { readonly command: string },
): Promise<void> {
  const operation = 'signal' in instruction ? 'power' : 'command';
  await callApi(options, 'POST', `/api/v1/game-servers/${uuid}/${operation}`, instruction);
}

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The uuid of a server given by uuid or name. Throws if no server or several servers have the name. */
export async function findUuid(options: ApiOptions, server: string): Promise<string> {
  if (UUID.test(server)) return server.toLowerCase();
  const servers = (await loadServers(options)).filter(({ name }) => name === server);
  const [only, ...others] = servers;
  if (only === undefined) {
    throw failed(
      `the key sees no server ${server}: ${commandLine(['servers', 'list'], { url: options.url })} shows them`,
    );
  }
  if (others.length === 0) return only.uuid;
  const uuids = servers.map(({ uuid }) => uuid).join(', ');
  throw failed(`several servers are called ${server}; name one by its uuid: ${uuids}`);
}

interface Envelope<T> {
  readonly data: T;
}
