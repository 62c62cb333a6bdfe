import type { Command } from 'commander';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { Suggestion } from '@portcullis/core/attacks/suggest-thresholds.ts';
import { withDatabase } from '../database.ts';
import { usageError } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson, printTable } from '@portcullis/caller/output.ts';

interface SuggestOptions extends DatabaseOptions {
  readonly organisation?: string;
  readonly pps?: string;
  readonly mbps?: string;
}

export function addThresholds(program: Command): void {
  const thresholds = program
    .command('thresholds')
    .description('when traffic is an attack, by what was seen');
  withDatabaseOptions(
    thresholds
      .command('suggest')
      .description('thresholds by the traffic and the attacks of the last seven days'),
  )
    .option('--organisation <slug>', 'of this organisation only')
    .option('--pps <number>', 'evaluate this instead of a suggestion: packets a second')
    .option('--mbps <number>', 'with --pps: megabits (10^6) a second')
    .addHelpText(
      'after',
      `
For each address and prefix that reached a quarter of its threshold, or was attacked. MISSED: recorded attacks that would have
stayed below. REPORTED: hours of usual traffic that would have been an attack. Nothing is changed: set them in the fleet file
or in the portal.

  portcullis thresholds suggest
  portcullis thresholds suggest --organisation acme --pps 8000 --mbps 500
  portcullis thresholds suggest --json | jq '.data[] | select(.suggested.missed > 0)'`,
    )
    .action(suggest);
}

async function suggest(options: SuggestOptions): Promise<void> {
  const { pps, mbps, organisation = null } = options;
  if ((pps === undefined) !== (mbps === undefined))
    throw usageError('--pps and --mbps go together');
  const chosen =
    pps === undefined || mbps === undefined
      ? null
      : { pps: numberOf('--pps', pps), bps: numberOf('--mbps', mbps) * 1_000_000 };
  const { loadSuggestions, suggestionView } = await import(
    '@portcullis/control/attacks/detection/index.ts'
  );
  const found = await withDatabase(options, (db) => loadSuggestions(db, organisation, chosen));
  if (options.json === true) {
    printJson(found.map((each) => ({ organisation: each.organisation, ...suggestionView(each) })));
    return;
  }
  if (found.length === 0) {
    print(
      'No address reached a quarter of its threshold in the last seven days, and none was attacked.',
    );
    return;
  }
  await printTable(HEADS, found.map(rowOf));
}

const HEADS = ['TARGET', 'OF', 'USUAL PEAK', 'NOW', 'SUGGESTED', 'ATTACKS', 'MISSED', 'REPORTED'];

function rowOf({ organisation, ...one }: Suggestion & { readonly organisation: string }): string[] {
  const { subject, usual, present, suggested, attacks } = one;
  const rates = (peak: { readonly pps: number; readonly bps: number }): string =>
    `${formatPps(peak.pps)}, ${formatBps(peak.bps)}`;
  const effect = suggested ?? present;
  return [
    subject,
    organisation,
    usual === null ? 'little' : rates(usual),
    rates(present),
    suggested === null ? 'as now' : rates(suggested),
    String(attacks),
    String(effect.missed),
    `${effect.reported} h`,
  ];
}

function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (!/^[1-9][0-9]{0,9}$/.test(text)) {
    throw usageError(`${option} ${text} is no whole number from 1 to 9999999999`);
  }
  return number;
}
