import type { ReadEgg } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { differenceOfTexts } from '@portcullis/core/text-difference.ts';
import type { Command } from 'commander';
import { confirmOnTerminal } from '../../confirm.ts';
import { connect } from '../../connect.ts';
import { failed, usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printable, printJson, styled } from '../../output.ts';
import { readText } from '../../read-text.ts';

interface SourceOptions extends CallOptions {
  readonly from?: string;
  readonly file?: string;
}

interface UpdateOptions extends SourceOptions {
  readonly yes?: boolean;
  readonly give?: string;
}

type Read = ReadEgg['data'];

/** Adds, updates and removes eggs of the library, with a key of the operator. */
export function addLibraryChanges(eggs: Command): void {
  withSource(
    withCallOptions(
      eggs.command('add').description('add an egg to the library (operator)').argument('<name>'),
    ),
  )
    .option('--not-offered', 'only operators make servers of it')
    .action(addEgg);
  withSource(
    withCallOptions(
      eggs
        .command('update')
        .description('take a newer egg, after what changes was shown (operator)')
        .argument('<name>'),
    ),
  )
    .option('--give <servers>', 'also to servers that have an older one: all, or none', 'none')
    .option('--yes', 'do not ask')
    .action(updateEgg);
  withCallOptions(
    eggs
      .command('remove')
      .description('remove an egg of the library; servers keep what they have (operator)')
      .argument('<name>'),
  ).action(removeEgg);
}

function withSource(command: Command): Command {
  return command
    .option('--from <url>', 'where control fetches it')
    .option('--file <path>', 'a file of this computer, JSON or YAML');
}

async function addEgg(
  name: string,
  options: SourceOptions & { readonly notOffered?: boolean },
): Promise<void> {
  const client = connect(options);
  const { read, source } = await readSource(client, name, options, null);
  const body = { document: read.document, source, offered: options.notOffered !== true };
  await client.saveLibraryEgg({ name, body }, { ifNoneMatch: '*' });
  for (const note of read.notes) if (options.quiet !== true) print(printable(note));
  done(`The library has ${read.egg.title} as ${name}.`, options);
}

async function updateEgg(name: string, options: UpdateOptions): Promise<void> {
  if (options.give !== 'all' && options.give !== 'none') {
    throw usageError(`--give ${options.give} is neither all nor none`);
  }
  const client = connect(options);
  const before = await client.readLibraryEgg({ name });
  const { read, source } = await readSource(client, name, options, before.data.source);
  const { fields = [], servers = [] } = read.change ?? {};
  const older = servers.filter(({ current }) => !current);
  if (options.json !== true && options.quiet !== true)
    show({ fields, servers }, options.give === 'all');
  if (fields.length > 0 && options.yes !== true) await agree(name);
  const body = { document: read.document, source, offered: before.data.offered };
  const { etag } = before.response;
  await client.saveLibraryEgg({ name, body }, etag === null ? {} : { ifMatch: etag });
  if (options.give === 'all') {
    for (const { uuid } of older) await client.changeServer({ uuid, body: { egg_digest: null } });
  }
  if (options.json === true) printJson({ fields, servers });
  else done(`The library has the newer ${name}.`, options);
}

async function agree(name: string): Promise<void> {
  if (!process.stdin.isTTY) throw usageError('it asks before it takes a newer egg: say --yes');
  if (!(await confirmOnTerminal(`Take the newer ${name}?`))) throw failed('nothing was changed');
}

function show(
  { fields, servers }: Pick<NonNullable<Read['change']>, 'fields' | 'servers'>,
  isGiven: boolean,
): void {
  if (fields.length === 0) print('Nothing that has an effect changes.');
  for (const { field, before, after } of fields) {
    print(styled('bold', field));
    for (const { sign, text } of differenceOfTexts(before ?? '', after ?? '')) {
      const line = `${sign} ${printable(text)}`;
      if (sign === '+') print(styled('green', line));
      else print(sign === '-' ? styled('red', line) : line);
    }
  }
  for (const { name, organisation, current } of servers) {
    const older = isGiven
      ? 'gets it, and takes it at its next start'
      : 'keeps the older one, unless --give all';
    print(`${printable(name)} (${organisation}): ${current ? 'has it already' : older}`);
  }
}

/** Reads the egg that the options name. `known`: the URL that it came from. */
async function readSource(
  client: KeyClient,
  name: string,
  { from, file }: SourceOptions,
  known: string | null,
): Promise<{ readonly read: Read; readonly source: string | null }> {
  if (from !== undefined && file !== undefined) throw usageError('say one of --from and --file');
  if (file !== undefined) {
    const { data } = await client.readEgg({ body: { text: readText(file), name } });
    return { read: data, source: known };
  }
  const url = from ?? known;
  if (url === null) throw usageError('say where it is: --from URL or --file PATH');
  const { data } = await client.readEgg({ body: { url, name } });
  return { read: data, source: url };
}

async function removeEgg(name: string, options: CallOptions): Promise<void> {
  await connect(options).removeLibraryEgg({ name });
  done(`${name} is removed from the library.`, options);
}

function done(message: string, options: CallOptions): void {
  if (options.json === true) printJson({ done: true }, { message });
  else if (options.quiet !== true) print(message);
}
