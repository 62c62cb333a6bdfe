import type { Command } from 'commander';
import type { GameServerStatus } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { connect } from '../../connect.ts';
import { eachOf } from '../../file/load.ts';
import { loadOpenTo } from '../../open-to.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson, printTable } from '../../output.ts';
import { addActivity } from './activity.ts';
import { addFiles } from './files/files.ts';
import { findUuid } from './find.ts';
import { addLogs } from './logs.ts';
import { addMake } from './make.ts';
import { addPeople } from './people.ts';
import { addPorts } from './ports.ts';
import { addPower } from './power.ts';
import { addReinstall } from './reinstall.ts';
import { addSettings } from './settings.ts';
import { addSftp } from './sftp.ts';
import { addShow } from './show.ts';

export function addServers(program: Command): void {
  const servers = program
    .command('servers')
    .description('game servers: state, power, console, files, settings, people, ports')
    .addHelpText(
      'after',
      `
A server is named by its uuid, or by its name if no other server has it.

  portcullis servers list
  portcullis servers show Survival
  portcullis servers power start Survival --wait
  portcullis servers command Survival say Restart in five minutes
  portcullis servers logs Survival --lines 200
  portcullis servers logs Survival --follow
  portcullis servers files ls Survival plugins
  portcullis servers sftp Survival --user ada@example.net
  portcullis servers reinstall 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11    after a failed build
  portcullis servers create Survival --egg flying-squid --wait
  portcullis servers settings set Survival MOTD="Come in"
  portcullis servers people list Survival
  portcullis servers ports add Survival --name voice
  portcullis servers activity Survival

If the node refuses, or a --wait times out, the exit code is 1.`,
    );
  withCallOptions(servers.command('list').description('every server that the key sees'))
    .option('--open', 'also to whom their ports are open')
    .action(listServers);
  addShow(servers);
  addPower(servers);
  withCallOptions(
    servers
      .command('command')
      .description('send a line to its console')
      .argument('<server>')
      .argument('<words...>', 'joined by spaces'),
  ).action(sendCommand);
  addLogs(servers);
  addFiles(servers);
  addSftp(servers);
  addReinstall(servers);
  addMake(servers);
  addSettings(servers);
  addPeople(servers);
  addPorts(servers);
  addActivity(servers);
}

interface ListOptions extends CallOptions {
  readonly open?: boolean;
}

async function listServers(options: ListOptions): Promise<void> {
  const client = connect(options);
  const [{ data: listed }, { data: statuses }] = await Promise.all([
    client.listGameServers(),
    client.listGameServerStatuses(),
  ]);
  const byUuid = new Map(statuses.map((status) => [status.uuid, status]));
  const servers = listed.map((server) => ({ ...server, ...byUuid.get(server.uuid) }));
  const open = options.open === true ? await loadOpenings(client, statuses) : null;
  if (options.json === true) {
    const withOpen = (uuid: string) => open && { open_to: open.get(uuid) ?? null };
    printJson(servers.map((server) => ({ ...server, ...withOpen(server.uuid) })));
    return;
  }
  if (servers.length === 0) {
    print('No servers that this key sees.');
    return;
  }
  await printTable(
    [
      'NAME',
      'UUID',
      'STATE',
      'ADDRESS',
      ...(open ? ['OPEN TO'] : []),
      'SERVICE',
      'MEMORY',
      'CPU',
      'DISK',
    ],
    servers.map((server) => [
      server.name,
      server.uuid,
      stateOf(server),
      server.allocation === undefined ? '' : placeOf(server.allocation),
      ...(open ? [describeOpenings(open.get(server.uuid) ?? [])] : []),
      String(server.service_id),
      server.limits.memory > 0 ? `${server.limits.memory} MiB` : 'no limit',
      server.limits.cpu > 0 ? `${server.limits.cpu} %` : 'no limit',
      server.limits.disk > 0 ? `${server.limits.disk} MiB` : 'no limit',
    ]),
  );
}

function placeOf({ ip, port }: { readonly ip: string; readonly port: number }): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function stateOf({
  provisioned,
  state,
  suspended,
  build_state: build,
}: {
  readonly provisioned: boolean;
  readonly state?: string | null;
  readonly suspended?: boolean;
  readonly build_state?: string;
}): string {
  if (suspended === true) return 'suspended';
  if (!provisioned) return build === 'failed' ? 'build failed' : 'not provisioned yet';
  return state ?? 'unknown';
}

type Openings = readonly {
  readonly protocol: string;
  readonly port: number;
  readonly to: string;
}[];

/** To whom the ports of each server are open, by its uuid. */
async function loadOpenings(
  client: KeyClient,
  statuses: readonly GameServerStatus[],
): Promise<ReadonlyMap<string, Openings>> {
  const found = new Map<string, Openings>();
  await eachOf(statuses, async ({ uuid }) => {
    const { data: build } = await client.readGameServerBuild({ slice: uuid });
    const openings: Openings[number][] = [];
    for (const { ip, port, protocol } of build.suggested_filters) {
      const open = await loadOpenTo(client, { ip, port, protocol: protocol as 'tcp' | 'udp' });
      openings.push({ protocol, port, to: typeof open === 'string' ? 'unknown' : open.to });
    }
    found.set(uuid, openings);
  });
  return found;
}

function describeOpenings(openings: Openings): string {
  return openings.map(({ protocol, port, to }) => `${protocol} ${port} ${to}`).join(', ');
}

async function sendCommand(
  server: string,
  words: readonly string[],
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const uuid = await findUuid(client, server);
  const command = words.join(' ');
  await client.sendCommand({ slice: uuid, body: { command } });
  if (options.json === true) printJson({ uuid, command, ok: true });
  else if (options.quiet !== true) {
    print(`The node accepted it. Its output: portcullis servers logs ${uuid}`);
  }
}
