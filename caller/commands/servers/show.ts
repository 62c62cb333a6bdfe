import type { Command } from 'commander';
import type {
  GameServerBuildState,
  GameServerDetail,
  OpenTo,
} from '@portcullis/client/generated/operations.ts';
import { connect } from '../../connect.ts';
import { eachOf } from '../../file/load.ts';
import { type AddressPort, loadOpenTo, OPEN_TO, PROPAGATION } from '../../open-to.ts';
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
  const ports = build.suggested_filters.map(({ ip, port, protocol }) => ({ ip, port, protocol }));
  const firewall: PortState[] = [];
  await eachOf(ports as readonly AddressPort[], async (port, index) => {
    firewall[index] = { ...port, open_to: await loadOpenTo(client, port) };
  });
  if (options.json === true) printJson({ ...detail, build, firewall });
  else describeServer(detail, build, firewall);
}

interface PortState extends AddressPort {
  /** A sentence where the key may not know. */
  readonly open_to: OpenTo | string;
}

function describeServer(
  server: GameServerDetail,
  build: GameServerBuildState,
  firewall: readonly PortState[],
): void {
  const { name, uuid, limits, resources } = server;
  print(
    `${styled('bold', name)} ${uuid}: ${stateOf(server)}${build.suspended ? ', suspended by the operator' : ''}`,
  );
  const away = build.node_connected ? '' : ', which is not connected';
  print(`node        ${build.node}${away}`);
  print(`address     ${build.allocation.ip} port ${build.allocation.port}`);
  for (const { ip, port, protocols, name: of } of build.allocations) {
    print(`port        ${ip} port ${port} ${protocols.join(', ')}${of === null ? '' : ` (${of})`}`);
  }
  if (build.open_while_running !== false) {
    const which =
      build.open_while_running === true ? 'its ports' : build.open_while_running.join(', ');
    print(`while it runs  ${which} are opened${build.ports_open ? ', as they are now' : ''}`);
  }
  for (const port of firewall) describePort(port);
  print(`egg         ${build.egg}`);
  print(`limits      ${describeLimits(limits)}`);
  if (resources !== null) {
    print(
      `uses        ${mib(resources.memory_bytes)} MiB, ${Math.round(resources.cpu_absolute)} % of a core, ${mib(resources.disk_bytes)} MiB of disk, for ${Math.round(resources.uptime / 1_000)} s`,
    );
  }
  if (build.problem !== null) print(styled('yellow', `problem     ${printable(build.problem)}`));
  if (build.state === 'built') return;
  const why = build.reason === null ? '' : `: ${printable(build.reason)}`;
  print(styled(build.state === 'failed' ? 'red' : 'yellow', `build       ${build.state}${why}`));
  if (build.log !== null) print(printable(build.log.trimEnd()).replaceAll(/^/gm, '  '));
}

function describePort({ port, protocol, open_to: open }: PortState): void {
  const place = `firewall    ${protocol} ${port}: `;
  if (typeof open === 'string') return print(styled('dim', `${place}${open}`));
  const { to, explanation, filters, propagation } = open;
  const colour = to === 'nobody' ? 'red' : 'green';
  print(`${place}${styled(colour, OPEN_TO[to] ?? to)}. ${explanation}`);
  if (filters.length > 0) print(`            filters: ${filters.join(', ')}`);
  if (propagation !== 'live')
    print(styled('yellow', `            ${PROPAGATION[propagation] ?? ''}`));
}

function stateOf({ state, provisioned }: GameServerDetail): string {
  if (!provisioned) return 'not provisioned yet';
  return state ?? 'unknown: its node does not answer';
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB);
}

function describeLimits({
  memory,
  cpu,
  disk,
}: {
  readonly memory: number;
  readonly cpu: number;
  readonly disk: number;
}): string {
  return [
    memory > 0 ? `${memory} MiB` : 'memory without limit',
    cpu > 0 ? `${cpu} % of a core` : 'processor without limit',
    disk > 0 ? `${disk} MiB of disk` : 'disk without limit',
  ].join(', ');
}
