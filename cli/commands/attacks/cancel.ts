import type { Command } from 'commander';
import { type Accepted, callApi } from '../../api.ts';
import { withTransaction } from '../../database.ts';
import { failed, usageError } from '../../exit.ts';
import { type EitherOptions, usesApi, withEitherOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';

export function addCancel(attacks: Command): void {
  withEitherOptions(
    attacks
      .command('cancel')
      .description('withdraw the mitigations of an attack, and add none until it ends')
      .argument('<id>', 'as `attacks list` and the logs print it'),
  ).action(cancelAttack);
}

/** Idempotent: a second call changes nothing. */
async function cancelAttack(id: string, options: EitherOptions): Promise<void> {
  const attackId = Number(id);
  if (!/^[1-9][0-9]*$/.test(id) || !Number.isSafeInteger(attackId)) {
    throw usageError(`an attack has a whole number, not ${id}`);
  }
  if (usesApi(options)) {
    const path = `/api/x1/attacks/${attackId}/mitigations`;
    const { data, message } = (await callApi(options, 'DELETE', path)) as Accepted;
    return options.json === true ? printJson(data) : print(message);
  }
  const { cancelIn } = await import('@portcullis/control/attacks/index.ts');
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
