import type { ServerActivity } from '@portcullis/client/generated/operations.ts';
import { wordsOfActivity } from '@portcullis/core/game-servers/activity-words.ts';
import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { localTime, print, printable, printJson, printTable } from '../../output.ts';
import { findUuid } from './find.ts';

/** The largest number of entries in one response of the API. */
const PAGE = 200;

export function addActivity(servers: Command): void {
  withCallOptions(
    servers.command('activity').description('who did what with it').argument('<server>'),
  )
    .option('--limit <count>', 'how many of the newest entries, up to 5000', '50')
    .action(showActivity);
}

async function showActivity(
  server: string,
  options: CallOptions & { readonly limit: string },
): Promise<void> {
  const wanted = /^[1-9]\d{0,3}$/.test(options.limit) ? Number(options.limit) : Number.NaN;
  if (!(wanted <= 5_000))
    throw usageError(`--limit ${options.limit} is not a number from 1 to 5000`);
  const client = connect(options);
  const slice = await findUuid(client, server);
  const entries: ServerActivity['data'][number][] = [];
  let before: number | null = null;
  do {
    const limit = Math.min(PAGE, wanted - entries.length);
    const query = before === null ? { limit } : { limit, before };
    const page: ServerActivity = await client.listServerActivity({ slice, query });
    entries.push(...page.data);
    before = page.meta.next;
  } while (before !== null && entries.length < wanted);
  if (options.json === true) {
    printJson(entries);
    return;
  }
  if (entries.length === 0) {
    print('Nothing was done with it yet.');
    return;
  }
  await printTable(
    ['WHEN', 'WHO', 'WHAT', 'BY', 'FROM'],
    entries.map(({ at, actor, action, detail, times, door, source }) => [
      localTime(at),
      printable(actor),
      printable(
        [action, ...wordsOfActivity(detail), ...(times > 1 ? [`(${times} times)`] : [])].join(' '),
      ),
      door,
      source ?? '',
    ]),
  );
}
