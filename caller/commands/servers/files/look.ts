import { connect } from '../../../connect.ts';
import { usageError } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { localTime, print, printable, printJson, printTable, warn } from '../../../output.ts';
import { findUuid } from '../find.ts';

const PAGE = 1_000;
const SORTS = ['name', 'size', 'modified'] as const;

interface ListOptions extends CallOptions {
  readonly sort: string;
  readonly reverse?: boolean;
}

export async function listFiles(
  server: string,
  path: string | undefined,
  options: ListOptions,
): Promise<void> {
  const sort = SORTS.find((one) => one === options.sort);
  if (sort === undefined)
    throw usageError(`--sort ${options.sort} is not one of ${SORTS.join(', ')}`);
  const client = connect(options);
  const slice = await findUuid(client, server);
  const order = options.reverse === true ? 'descending' : 'ascending';
  const ask = (page: number) =>
    client.listFiles({
      slice,
      query: { sort, order, page, per_page: PAGE, ...(path !== undefined && { path }) },
    });
  const first = await ask(1);
  const entries = [...first.data];
  for (let page = 2; (page - 1) * PAGE < first.meta.total; page += 1) {
    entries.push(...(await ask(page)).data);
  }
  if (options.json === true) return printJson(entries);
  if (!first.meta.complete) warn('The folder has more entries than the node lists.');
  await printTable(
    ['NAME', 'SIZE', 'MODIFIED', 'MODE'],
    entries.map(({ name, type, size, modified_at: at, mode, denied }) => [
      `${printable(name)}${MARKS[type] ?? ''}${denied ? ' (denied)' : ''}`,
      type === 'file' ? formatBytes(size) : '',
      localTime(at),
      mode,
    ]),
  );
}

/** The marks of `ls -F`. */
const MARKS: Readonly<Record<string, string>> = { folder: '/', link: '@', other: '=' };

interface FindOptions extends CallOptions {
  readonly name?: string;
  readonly text?: string;
}

export async function findFiles(
  server: string,
  path: string | undefined,
  options: FindOptions,
): Promise<void> {
  const { name, text } = options;
  if (name === undefined && text === undefined) throw usageError('give --name or --text');
  const client = connect(options);
  const slice = await findUuid(client, server);
  const query = {
    limit: 500,
    ...(path !== undefined && { path }),
    ...(name !== undefined && { name }),
    ...(text !== undefined && { text }),
  };
  const { data, meta } = await client.searchFiles({ slice, query });
  if (options.json === true) return printJson(data, { meta });
  for (const { path: found, line, text: shown } of data) {
    print(printable(line === null ? found : `${found}:${line}: ${shown ?? ''}`));
  }
  if (!meta.complete) warn('There may be more: a limit ended the search. Search a smaller folder.');
}

export async function diskUse(
  server: string,
  path: string | undefined,
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.measureFiles({
    slice,
    ...(path !== undefined && { query: { path } }),
  });
  if (options.json === true) return printJson(data);
  const more = (complete: boolean): string => (complete ? '' : ' or more');
  await printTable(
    ['SIZE', 'FILES', 'NAME'],
    [
      ...data.children.map(({ name, bytes, entries, complete }) => [
        `${formatBytes(bytes)}${more(complete)}`,
        String(entries),
        printable(name),
      ]),
      [`${formatBytes(data.bytes)}${more(data.complete)}`, String(data.entries), 'in all'],
    ],
  );
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}
