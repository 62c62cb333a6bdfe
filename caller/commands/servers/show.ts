import type { Command } from 'commander';
import type {
  GameServerBuildState,
  GameServerDetail,
} from '@portcullis/client/generated/operations.ts';
import { connect } from '../../connect.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printable, printJson, styled } from '../../output.ts';
import { findUuid } from './find.ts';

const MIB = 1024 * 1024;

export function addShow(servers: Command): void {
  withCallOptions(
    servers.command('show').description('its current state and its build').argument('<server>'),
  ).action(showServer);
}

async function showServer(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const [{ data: detail }, { data: build }] = await Promise.all([
    client.readGameServer({ slice }),
    client.readGameServerBuild({ slice }),
  ]);
  if (options.json === true) printJson({ ...detail, build });
  else describeServer(detail, build);
}

function describeServer(server: GameServerDetail, build: GameServerBuildState): void {
  const { name, uuid, limits, resources } = server;
  print(`${styled('bold', name)} ${uuid}: ${stateOf(server)}`);
  const away = build.node_connected ? '' : ', which is not connected';
  print(`node        ${build.node}${away}`);
  print(`address     ${build.allocation.ip} port ${build.allocation.port}`);
  for (const { ip, port, protocols, name: of } of build.allocations) {
    print(`port        ${ip} port ${port} ${protocols.join(', ')}${of === null ? '' : ` (${of})`}`);
  }
  if (build.open_while_running !== false) {
    const which =
      build.open_while_running === true ? 'its ports' : build.open_while_running.join(', ');
    print(`firewall    ${which}: ${build.ports_open ? 'open' : 'closed'}, open while it runs`);
  }
  print(`egg         ${build.egg}${build.suspended ? ' (suspended)' : ''}`);
  print(`limits      ${limits.memory} MiB, ${limits.cpu} % of a core, ${limits.disk} MiB of disk`);
  if (resources !== null) {
    print(
      `uses        ${mib(resources.memory_bytes)} MiB, ${resources.cpu_absolute} % of a core, ${mib(resources.disk_bytes)} MiB of disk, for ${Math.round(resources.uptime / 1_000)} s`,
    );
  }
  if (build.problem !== null) print(styled('yellow', `problem     ${printable(build.problem)}`));
  if (build.state === 'built') return;
  const why = build.reason === null ? '' : `: ${printable(build.reason)}`;
  print(styled(build.state === 'failed' ? 'red' : 'yellow', `build       ${build.state}${why}`));
  if (build.log !== null) print(printable(build.log.trimEnd()).replaceAll(/^/gm, '  '));
}

function stateOf({ state, provisioned }: GameServerDetail): string {
  if (!provisioned) return 'not provisioned yet';
  return state ?? 'unknown: its node does not answer';
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB);
}
