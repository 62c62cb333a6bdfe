import type { Command } from 'commander';
import { type Accepted, callApi } from '../api.ts';
import { type ApiOptions, parseDuration, withApiOptions } from '../options.ts';
import { addDryRun } from './dry-run.ts';
import { print, printJson, printTable } from '../output.ts';

const LONGEST_MS = 366 * 86_400_000;
const PATH = '/api/x1/firewall/blocked';
const ON = 'an address or a prefix that you hold (default: everything)';

export function addFirewall(program: Command): void {
  const firewall = program
    .command('firewall')
    .description('blocked sources, which are dropped whatever allow rules say, and dry runs');
  withApiOptions(
    firewall
      .command('block')
      .description('drop every packet from these addresses or networks')
      .argument('<source...>', 'addresses or networks, such as 192.0.2.7 or 198.51.100.0/24')
      .option('--on <target>', ON)
      .option('--note <text>', 'why')
      .option('--for <time>', 'unblock them after a time, such as 30m or 2h'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall block 192.0.2.7 --on 203.0.113.10
  portcullis firewall block 192.0.2.7 198.51.100.0/24 --for 2h --note scans`,
    )
    .action(block);
  withApiOptions(
    firewall
      .command('unblock')
      .description('let these sources through to the rules again')
      .argument('<source...>', 'as they were blocked')
      .option('--on <target>', ON),
  ).action(unblock);
  addDryRun(firewall);
  withApiOptions(firewall.command('blocked').description('list the blocked sources')).action(list);
}

interface BlockOptions extends ApiOptions {
  readonly on?: string;
  readonly note?: string;
  readonly for?: string;
}

async function block(sources: readonly string[], options: BlockOptions): Promise<void> {
  const { on: target = null, note } = options;
  const forMs = options.for === undefined ? null : parseDuration(options.for, '--for', LONGEST_MS);
  const expires_at = forMs === null ? null : new Date(Date.now() + forMs).toISOString();
  const body = { sources, target, expires_at, ...(note !== undefined && { note }) };
  report(await callApi(options, 'POST', PATH, body), options);
}

async function unblock(sources: readonly string[], options: BlockOptions): Promise<void> {
  const body = { sources, target: options.on ?? null };
  report(await callApi(options, 'DELETE', PATH, body), options);
}

function report(answer: unknown, { json }: ApiOptions): void {
  if (json === true) printJson((answer as Accepted).data);
  else print((answer as Accepted).message);
}

interface Blocked {
  readonly id: number;
  readonly source: string;
  readonly target: string | null;
  readonly note: string;
  readonly expires_at: string | null;
}
interface Page {
  readonly data: readonly Blocked[];
  readonly links: { readonly next: string | null };
}

/** At most 10,000 of an organisation, in pages of 1,000. */
const MAX_PAGES = 10;

async function list(options: ApiOptions): Promise<void> {
  const found: Blocked[] = [];
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const after = found.at(-1)?.id ?? 0;
    const page = (await callApi(options, 'GET', `${PATH}?after=${after}`)) as Page;
    found.push(...page.data);
    if (page.links.next === null) break;
  }
  if (options.json === true) return printJson(found);
  if (found.length === 0) return print('no source is blocked');
  await printTable(
    ['SOURCE', 'ON', 'UNTIL', 'NOTE'],
    found.map(({ source, target, expires_at, note }) => [
      source,
      target ?? 'everything',
      expires_at ?? '',
      note,
    ]),
  );
}
