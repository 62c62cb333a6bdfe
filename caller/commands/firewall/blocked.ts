import type { Command } from 'commander';
import type { BlockedSource } from '@portcullis/client/generated/operations.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { connect } from '../../connect.ts';
import { EXIT, QuietExit, usageError } from '../../exit.ts';
import { type CallOptions, parseDuration, withCallOptions } from '../../options.ts';
import { localTime, print, printJson, printTable, report } from '../../output.ts';

const LONGEST_MS = 366 * 86_400_000;
const ON = 'an address or a prefix that you hold (default: everything)';

/** `firewall block`, `unblock`, `blocked`: sources that are dropped before any allow rule is read. */
export function addBlocked(firewall: Command): void {
  withCallOptions(
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
  withCallOptions(
    firewall
      .command('unblock')
      .description('let these sources through to the rules again')
      .argument('<source...>', 'as they were blocked')
      .option('--on <target>', ON),
  ).action(unblock);
  withCallOptions(firewall.command('blocked').description('list the blocked sources')).action(list);
}

interface BlockOptions extends CallOptions {
  readonly on?: string;
  readonly note?: string;
  readonly for?: string;
}

async function block(sources: readonly string[], options: BlockOptions): Promise<void> {
  requireNetworks(sources, options);
  const { on: target = null, note } = options;
  const forMs = options.for === undefined ? null : parseDuration(options.for, '--for', LONGEST_MS);
  const expires_at = forMs === null ? null : new Date(Date.now() + forMs).toISOString();
  const body = { sources, target, expires_at, ...(note !== undefined && { note }) };
  report(await connect(options).blockSources({ body }), options);
}

async function unblock(sources: readonly string[], options: BlockOptions): Promise<void> {
  requireNetworks(sources, options);
  const body = { sources, target: options.on ?? null };
  const answer = await connect(options).unblockSources({ body });
  report(answer, options);
  // A script that unblocks wants the source through.
  if (answer.data.still_blocked.length > 0) throw new QuietExit(EXIT.failed);
}

function requireNetworks(sources: readonly string[], { on }: BlockOptions): void {
  for (const text of [...sources, ...(on === undefined ? [] : [on])]) {
    const cidr = parseCidr(text);
    if (!cidr.ok) throw usageError(`${text} is not an address or a network: ${cidr.reason}`);
  }
}

async function list(options: CallOptions): Promise<void> {
  const found: BlockedSource[] = [];
  for await (const page of connect(options).pages.listBlockedSources()) found.push(...page.data);
  if (options.json === true) return printJson(found);
  if (found.length === 0) return print('no source is blocked');
  await printTable(
    ['SOURCE', 'ON', 'UNTIL', 'NOTE'],
    found.map(({ source, target, expires_at, note }) => [
      source,
      target ?? 'everything',
      localTime(expires_at),
      note,
    ]),
  );
}
