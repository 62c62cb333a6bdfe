import type { Command } from 'commander';
import { type Accepted, callApi } from '../../api.ts';
import { withTransaction } from '../../database.ts';
import { failed, usageError } from '../../exit.ts';
import { type EitherOptions, usesApi, withEitherOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import { UUID } from '../../server-api.ts';

export function addReinstall(servers: Command): void {
  withEitherOptions(
    servers
      .command('reinstall')
      .description("build it again: the egg's install script runs again in its folder")
      .argument('<uuid>'),
  ).action(reinstall);
}

async function reinstall(uuid: string, options: EitherOptions): Promise<void> {
  if (!UUID.test(uuid)) throw usageError(`${uuid} is not the uuid of a server`);
  if (usesApi(options)) {
    const path = `/api/x1/game-servers/${uuid}/reinstall`;
    const { data, message } = (await callApi(options, 'POST', path)) as Accepted;
    return options.json === true ? printJson(data) : print(message);
  }
  const { reinstallServer } = await import('@portcullis/control/game-servers/index.ts');
  const epoch = await withTransaction(options, (tx, actor) => reinstallServer(tx, uuid, actor));
  if (epoch === null) throw failed(`there is no server ${uuid}`);
  if (options.json === true) printJson({ uuid, epoch });
  else print('Its node builds it again; it cannot be started until then.');
}
