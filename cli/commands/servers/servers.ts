import type { Command } from 'commander';
import { type ApiOptions, withApiOptions } from '../../options.ts';
import { print, printJson, printTable } from '../../output.ts';
import { findUuid, loadServers, sendInstruction } from '../../server-api.ts';
import { addLogs } from './logs.ts';
import { addPower } from './power.ts';
import { addReinstall } from './reinstall.ts';
import { addShow } from './show.ts';
import { commandLine } from '../../installation/command-line.ts';

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
  withApiOptions(servers.command('list').description('every server that the key sees')).action(
    listServers,
  );
  addShow(servers);
  addPower(servers);
  withApiOptions(
    servers
      .command('command')
      .description('send a line to its console')
      .argument('<server>')
      .argument('<words...>', 'joined by spaces'),
  ).action(sendCommand);
  addLogs(servers);
  addReinstall(servers);
}

async function listServers(options: ApiOptions): Promise<void> {
  const servers = await loadServers(options);
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
  options: ApiOptions,
): Promise<void> {
  const uuid = await findUuid(options, server);
  const command = words.join(' ');
  await sendInstruction(options, uuid, { command });
  if (options.json === true) printJson({ uuid, command, ok: true });
  else {
    const logs = commandLine(['servers', 'logs', uuid], { url: options.url });
    print(`The node accepted it. Its output: ${logs}`);
  }
}
