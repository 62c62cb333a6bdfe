import { connect } from '../../../connect.ts';
import type { CallOptions } from '../../../options.ts';
import { localTime, print, printable, printJson, printTable } from '../../../output.ts';
import { findUuid } from '../find.ts';
import { reportChanged } from './change.ts';

export async function binFiles(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data, meta } = await client.listDeletedFiles({ slice });
  if (options.json === true) return printJson(data, { meta });
  if (data.length === 0) return print('The bin is empty.');
  await printTable(
    ['ID', 'DELETED', 'PATH'],
    data.map(({ id, path, deleted_at: at }) => [id, localTime(at), printable(path)]),
  );
}

export async function restoreFiles(
  server: string,
  ids: readonly string[],
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.restoreFiles({ slice, body: { ids: [...ids] } });
  reportChanged(data, options, 'restored');
}

export async function emptyBin(
  server: string,
  ids: readonly string[],
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const body = ids.length === 0 ? {} : { ids: [...ids] };
  const { data } = await client.emptyBin({ slice, body });
  if (ids.length > 0) return reportChanged(data, options, 'removed');
  if (options.json === true) printJson(data);
  else if (options.quiet !== true) print('The bin is empty.');
}
