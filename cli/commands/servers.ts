import { print, printJson, printTable, shown, styled } from '../output.ts';
import type { ServersOptions } from '../program/servers.ts';
import {
  instruct,
  loadBuild,
  loadDetail,
  loadServers,
  type ServerBuild,
  type ServerDetail,
  uuidOf,
} from './server-api.ts';

const MIB = 1024 * 1024;

/** `portcullis servers list`. */
export async function listServers(options: ServersOptions): Promise<void> {
  const servers = await loadServers(options);
  if (options.json === true) {
    printJson({ servers });
    return;
  }
  if (servers.length === 0) {
    print('No servers that this key sees.');
    return;
  }
  await printTable(
    ['NAME', 'UUID', 'SERVICE', 'PROVISIONED', 'MEMORY', 'CPU', 'DISK'],
    servers.map(({ name, uuid, service_id, provisioned, limits }) => [
      name,
      uuid,
      String(service_id),
      provisioned ? 'yes' : 'not yet',
      `${limits.memory} MiB`,
      `${limits.cpu} %`,
      `${limits.disk} MiB`,
    ]),
  );
}

/** `portcullis servers show SERVER`. */
export async function showServer(named: string, options: ServersOptions): Promise<void> {
  const uuid = await uuidOf(options, named);
  const [detail, build] = await Promise.all([loadDetail(options, uuid), loadBuild(options, uuid)]);
  if (options.json === true) printJson({ ...detail, build });
  else describeServer(detail, build);
}

function describeServer(server: ServerDetail, build: ServerBuild): void {
  const { name, uuid, limits, resources } = server;
  print(`${styled('bold', name)} ${uuid}: ${stateOf(server)}`);
  const away = build.node_connected ? '' : ', which is not connected';
  print(`node        ${build.node}${away}`);
  print(`reached at  ${build.allocation.ip} port ${build.allocation.port}`);
  print(`egg         ${build.egg}${build.suspended ? ' (suspended)' : ''}`);
  print(`limits      ${limits.memory} MiB, ${limits.cpu} % of a core, ${limits.disk} MiB of disk`);
  if (resources !== null) {
    print(
      `uses        ${mib(resources.memory_bytes)} MiB, ${resources.cpu_absolute} % of a core, ${mib(resources.disk_bytes)} MiB of disk, for ${Math.round(resources.uptime / 1_000)} s`,
    );
  }
  if (build.problem !== null) print(styled('yellow', `problem     ${shown(build.problem)}`));
  if (build.state === 'built') return;
  const why = build.reason === null ? '' : `: ${build.reason}`;
  print(styled(build.state === 'failed' ? 'red' : 'yellow', `build       ${build.state}${why}`));
  if (build.log !== null) print(build.log.trimEnd().replaceAll(/^/gm, '  '));
}

function stateOf({ state, provisioned }: ServerDetail): string {
  if (!provisioned) return 'not provisioned yet';
  return state ?? 'unknown: its node does not answer';
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB);
}

/** `portcullis servers command SERVER WORDS...`. */
export async function sendCommand(
  named: string,
  command: string,
  options: ServersOptions,
): Promise<void> {
  const uuid = await uuidOf(options, named);
  await instruct(options, uuid, { command });
  if (options.json === true) printJson({ uuid, command, ok: true });
  else print('The node took it. What came of it: portcullis servers logs');
}
