import type { Command } from 'commander';
import { withTransaction } from '../../database.ts';
import { failed, usageError } from '../../exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import { UUID } from '../../server-api.ts';

export function addReinstall(servers: Command): void {
  withDatabaseOptions(
    servers
      .command('reinstall')
      .description("build it again: the egg's install script runs again in its folder")
      .argument('<uuid>'),
  ).action(reinstall);
}

async function reinstall(uuid: string, options: DatabaseOptions): Promise<void> {
  const { reinstallServer } = await import('@portcullis/control/game-servers/index.ts');
  if (!UUID.test(uuid)) throw usageError(`${uuid} is not the uuid of a server`);
  const epoch = await withTransaction(options, (tx, actor) => reinstallServer(tx, uuid, actor));
  if (epoch === null) throw failed(`there is no server ${uuid}`);
  if (options.json === true) printJson({ uuid, build: 'waiting' });
  else print('Its node builds it again; it cannot be started until then.');
}
