import type { Command } from 'commander';
import { withDatabaseOptions } from './keys.ts';

export interface AttacksOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export function addAttacks(program: Command): void {
  const attacks = program.command('attacks').description('attacks, and what is done against them');
  withDatabaseOptions(
    attacks
      .command('cancel')
      .description('withdraw what is done against an attack, for as long as it is this attack')
      .argument('<id>', 'as `attacks list` and the logs name it'),
  ).action(async (id: string, options: AttacksOptions) =>
    (await import('../commands/attacks-cancel.ts')).cancelAttack(id, options),
  );
}
