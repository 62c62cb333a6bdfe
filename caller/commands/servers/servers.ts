import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson, printTable } from '../../output.ts';
import { findUuid } from './find.ts';
import { addLogs } from './logs.ts';
import { addPower } from './power.ts';
import { addReinstall } from './reinstall.ts';
import { addShow } from './show.ts';

export function addServers(program: Command): void {
  const servers = program
    .command('servers')
    .description('game servers: state, power, console')
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
  portcullis servers reinstall 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11    after a failed build

If the node refuses, or a --wait times out, the exit code is 1.`,
    );
  withCallOptions(servers.command('list').description('every server that the key sees')).action(
    listServers,
  );
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
  addReinstall(servers);
}

async function listServers(options: CallOptions): Promise<void> {
  const { data: servers } = await connect(options).listGameServers();
  if (options.json === true) {
    printJson(servers);
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
