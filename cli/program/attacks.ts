import type { Command } from 'commander';
import { withApiOptions } from './explain.ts';
import { withDatabaseOptions } from './keys.ts';

export interface AttacksOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export interface AttackListOptions {
  readonly ip?: string;
  readonly prefix?: string;
  readonly asn?: string;
  readonly from?: string;
  readonly to?: string;
  readonly ongoing?: boolean;
  readonly limit?: string;
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
}

export function addAttacks(program: Command): void {
  const attacks = program.command('attacks').description('attacks, and what is done against them');
  addReading(attacks);
  addWatching(attacks);
  withDatabaseOptions(
    attacks
      .command('cancel')
      .description('withdraw what is done against an attack, for as long as it is this attack')
      .argument('<id>', 'as `attacks list` and the logs name it'),
  ).action(async (id: string, options: AttacksOptions) =>
    (await import('../commands/attacks-cancel.ts')).cancelAttack(id, options),
  );
}

function withNarrowing(command: Command): Command {
  return withApiOptions(
    command
      .option('--ip <ip>', 'only attacks on this address')
      .option('--prefix <cidr>', 'only attacks on addresses inside this block')
      .option('--asn <asn>', 'only attacks on prefixes announced under this ASN'),
  );
}

function addReading(attacks: Command): void {
  const list = attacks
    .command('list')
    .description('attacks on addresses that the key sees, newest first')
    .option('--from <time>', 'ISO 8601 with an offset, or how long ago, such as 90m or 7d')
    .option('--to <time>', 'likewise (default: now)')
    .option('--ongoing', 'only attacks that have not ended')
    .option('--limit <count>', 'print at most so many (default: 100)');
  withNarrowing(list)
    .addHelpText(
      'after',
      `
  portcullis attacks list
  portcullis attacks list --ongoing --prefix 203.0.113.0/24
  portcullis attacks list --from 7d --json | jq '.attacks[].peak_pps'`,
    )
    .action(async (options: AttackListOptions) =>
      (await import('../commands/attacks.ts')).listAttacks(options),
    );
  withApiOptions(
    attacks
      .command('show')
      .description('an attack: its kind, peaks, sources, traffic over time, and what is done')
      .argument('<id>', 'as `attacks list` names it'),
  )
    .addHelpText(
      'after',
      `
  portcullis attacks show 311
  portcullis attacks show 311 --json | jq .evidence.series`,
    )
    .action(async (id: string, options: AttackListOptions) =>
      (await import('../commands/attacks.ts')).showAttack(id, options),
    );
}

function addWatching(attacks: Command): void {
  withNarrowing(
    attacks
      .command('watch')
      .description('print attacks as they begin, rise and end, until interrupted'),
  )
    .addHelpText(
      'after',
      `
  portcullis attacks watch
  portcullis attacks watch --prefix 203.0.113.0/24 --json

With --json: one JSON document a line, for each attack that is new or changed.
Control that goes away while it is watched is waited for; that is told on standard error.`,
    )
    .action(async (options: AttackListOptions) =>
      (await import('../commands/attacks-watch.ts')).watchAttacks(options),
    );
}
