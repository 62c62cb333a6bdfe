import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { report } from '../../output.ts';

export function addCancel(attacks: Command): void {
  withCallOptions(
    attacks
      .command('cancel')
      .description('withdraw the mitigations of an attack, and add none until it ends')
      .argument('<id>', 'as `attacks list` and the logs print it'),
  ).action(cancelAttack);
}

/** Idempotent: a second call changes nothing. */
async function cancelAttack(id: string, options: CallOptions): Promise<void> {
  if (!/^[1-9][0-9]{0,15}$/.test(id)) throw usageError(`an attack has a whole number, not ${id}`);
  report(await connect(options).cancelMitigations({ attack: Number(id) }), options);
}
