import type { Command } from 'commander';
import { withTransaction } from '../../database.ts';
import { failed, usageError } from '../../exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';

export function addCancel(attacks: Command): void {
  withDatabaseOptions(
    attacks
      .command('cancel')
      .description('withdraw the mitigations of an attack, and add none until it ends')
      .argument('<id>', 'as `attacks list` and the logs print it'),
  ).action(cancelAttack);
}

/** Idempotent: a second call changes nothing. */
async function cancelAttack(id: string, options: DatabaseOptions): Promise<void> {
  const { cancelIn } = await import('@portcullis/control/attacks/index.ts');
  const attackId = Number(id);
  if (!/^[1-9][0-9]*$/.test(id) || !Number.isSafeInteger(attackId)) {
    throw usageError(`an attack has a whole number, not ${id}`);
  }
  const cancelled = await withTransaction(options, (tx, actor) => cancelIn(tx, attackId, actor));
  if (cancelled === null) throw failed(`there is no attack ${id}`);
  const { subject, generation } = cancelled;
  if (options.json === true) printJson({ attack: attackId, subject, generation });
  else if (generation === null) print(`Attack ${id} on ${subject} has no mitigation left.`);
  else {
    print(
      `The mitigations of attack ${id} on ${subject} are withdrawn by generation ${generation}.`,
    );
  }
}
