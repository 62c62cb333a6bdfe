import type { Command } from 'commander';
import { usageError } from '../../exit.ts';
import { localTime, print, printJson, printTable } from '../../output.ts';
import type { Attack } from '@portcullis/client/generated/operations.ts';
import { attackQuery, type AttackOptions, loadAttacks, withTargetOptions } from './attack-pages.ts';

interface ListOptions extends AttackOptions {
  readonly limit?: string;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;

export function addList(attacks: Command): void {
  withTargetOptions(
    attacks
      .command('list')
      .description('attacks on addresses that the key sees, newest first')
      .option('--from <time>', 'ISO 8601 with an offset, or a time before now, such as 90m or 7d')
      .option('--to <time>', 'in the same form (default: now)')
      .option('--ongoing', 'only attacks that have not ended')
      .option('--limit <count>', 'the largest number to print (default: 100)'),
  )
    .addHelpText(
      'after',
      `
  portcullis attacks list
  portcullis attacks list --ongoing --prefix 203.0.113.0/24
  portcullis attacks list --from 7d --json | jq '.data[].peak_pps'`,
    )
    .action(listAttacks);
}

async function listAttacks(options: ListOptions): Promise<void> {
  const limit = parseLimit(options.limit);
  const loaded = await loadAttacks(options, attackQuery(options), limit);
  const { meta } = loaded;
  const attacks = loaded.attacks.slice(0, limit);
  if (options.json === true) {
    printJson(attacks, { meta: { total: meta.total, from: meta.from } });
    return;
  }
  if (attacks.length === 0) print(`No attacks since ${localTime(meta.from)}.`);
  else await printTable(HEADS, attacks.map(rowOf));
  if (meta.total > attacks.length) print(`and ${meta.total - attacks.length} more: --limit`);
  if (meta.from_clamped) {
    print(`Nothing earlier than ${localTime(meta.from)} is stored or visible to this key.`);
  }
}

const HEADS = ['ID', 'TARGET', 'TYPE', 'PEAK', '', 'STARTED', 'LASTED', 'STATUS'];

function rowOf(attack: Attack): string[] {
  return [
    String(attack.id),
    attack.destination_ip,
    attack.attack_type,
    attack.peak_pps_formatted,
    attack.peak_bps_formatted,
    localTime(attack.started_at),
    `${attack.duration_seconds} s`,
    attack.mitigated_at === null ? attack.status : `${attack.status}, mitigated`,
  ];
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (!/^[1-9][0-9]*$/.test(text) || limit > MAX_LIMIT) {
    throw usageError(`--limit ${text} is not a whole number from 1 to ${MAX_LIMIT}`);
  }
  return limit;
}
