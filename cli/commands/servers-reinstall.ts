import { reinstallServer } from '@portcullis/control/game-servers/index.ts';
import { withDatabase } from '../database.ts';
import { failed, usageError } from '../exit.ts';
import { print, printJson } from '../output.ts';
import type { ReinstallOptions } from '../program/servers.ts';
import { operator } from '../up/first-start.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** `portcullis servers reinstall UUID`: the operator's, on the system of record. */
export async function reinstall(uuid: string, options: ReinstallOptions): Promise<void> {
  if (!UUID.test(uuid)) throw usageError(`${uuid} is not the uuid of a server`);
  const found = await withDatabase(options, (db) =>
    db.transaction().execute((tx) => reinstallServer(tx, uuid, operator())),
  );
  if (!found) throw failed(`there is no server ${uuid}`);
  if (options.json === true) printJson({ uuid, build: 'waiting' });
  else print('Its node builds it anew; until that is done nobody can start it.');
}
