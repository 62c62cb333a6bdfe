import type { ServerPorts } from '@portcullis/client/index.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { failed, usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson, printTable } from '../../output.ts';
import { findUuid } from './find.ts';

type Port = ServerPorts['data']['ports'][number];

export function addPorts(servers: Command): void {
  const ports = servers
    .command('ports')
    .description('the ports of a server, and more of them')
    .addHelpText(
      'after',
      `
  portcullis servers ports list Survival
  portcullis servers ports add Survival --name voice --protocol udp
  portcullis servers ports set Survival 25570 --name query
  portcullis servers ports primary Survival 25570
  portcullis servers ports remove Survival 25570

A port is named by its number, or as ADDRESS PORT in one argument if the server has it at several addresses. The operator
sets how many a server may have. The firewall lets a port through while the server runs, which has it at its next start.`,
    );
  withCallOptions(
    ports.command('list').description('every port, the first one first').argument('<server>'),
  ).action(listPorts);
  withCallOptions(
    ports.command('add').description('add one that the node has free').argument('<server>'),
  )
    .option('--name <name>', 'what it is for, such as voice')
    .option('--protocol <protocol>', 'tcp, udp or both (default: those of the game)')
    .option('--port <number>', 'this one of those that the node gives')
    .action(addPort);
  withCallOptions(
    ports
      .command('set')
      .description('set the name and protocols of one that was added')
      .argument('<server>')
      .argument('<port>'),
  )
    .option('--name <name>', 'what it is for; without, it has no name')
    .option('--protocol <protocol>', 'tcp, udp or both (default: those of the game)')
    .action(setPort);
  withCallOptions(
    ports
      .command('primary')
      .description('make it the first one, which players are shown')
      .argument('<server>')
      .argument('<port>'),
  ).action(choosePrimary);
  withCallOptions(
    ports
      .command('remove')
      .description('remove one that was added')
      .argument('<server>')
      .argument('<port>'),
  ).action(removePort);
}

interface PortOptions extends CallOptions {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: string;
}

async function listPorts(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.listServerPorts({ slice });
  if (options.json === true) {
    printJson(data);
    return;
  }
  await printTable(
    ['ADDRESS', 'PORT', 'PROTOCOLS', 'NAME', 'FROM'],
    data.ports.map(({ ip, port, protocols, name, primary, added }) => [
      ip,
      String(port),
      protocols.join(' '),
      primary ? `${name ?? ''} (first)`.trim() : (name ?? ''),
      added ? 'people' : 'operator',
    ]),
  );
}

async function addPort(server: string, options: PortOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const port = options.port === undefined ? {} : { port: numberOf(options.port) };
  done(await client.addServerPort({ slice, body: { ...fieldsOf(options), ...port } }), options);
}

async function setPort(server: string, port: string, options: PortOptions): Promise<void> {
  const client = connect(options);
  const place = await findPort(client, server, port);
  done(await client.setServerPort({ ...place, body: fieldsOf(options) }), options);
}

async function choosePrimary(server: string, port: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  done(await client.choosePrimaryPort(await findPort(client, server, port)), options);
}

async function removePort(server: string, port: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  done(await client.removeServerPort(await findPort(client, server, port)), options);
}

/** The path of the port that an argument names. */
async function findPort(client: KeyClient, server: string, named: string) {
  const slice = await findUuid(client, server);
  const { ports } = (await client.listServerPorts({ slice })).data;
  const [address, number = address] = named.trim().split(/\s+/);
  const found = ports.filter(
    ({ ip, port }) => String(port) === number && (number === address || ip === address),
  );
  const [one, other] = found;
  if (one === undefined) throw failed(`the server has no port ${named}: see "servers ports list"`);
  if (other !== undefined) throw failed(`the server has it at ${found.map(placeOf).join(', ')}`);
  return { slice, address: one.ip, port: one.port };
}

function placeOf({ ip, port }: Port): string {
  return `"${ip} ${port}"`;
}

function numberOf(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= 65_535) return number;
  throw usageError(`${text} is no port`);
}

const PROTOCOLS: Readonly<Record<string, readonly ('tcp' | 'udp')[]>> = {
  tcp: ['tcp'],
  udp: ['udp'],
  both: ['tcp', 'udp'],
};

function fieldsOf({ name, protocol }: PortOptions) {
  const protocols = protocol === undefined ? undefined : PROTOCOLS[protocol];
  if (protocol !== undefined && protocols === undefined) {
    throw usageError(`--protocol ${protocol} is none of tcp, udp and both`);
  }
  return {
    ...(name !== undefined && { name }),
    ...(protocols !== undefined && { protocols: [...protocols] }),
  };
}

function done(
  { data, message }: { readonly data: ServerPorts['data']; readonly message: string },
  options: CallOptions,
): void {
  if (options.json === true) printJson(data, { message });
  else if (options.quiet !== true) print(message);
}
