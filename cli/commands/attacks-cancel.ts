import { cancelIn } from '@portcullis/control/attacks/index.ts';
import { withDatabase } from '../database.ts';
import { failed, usageError } from '../exit.ts';
import { print, printJson } from '../output.ts';
import { operator } from '../up/first-start.ts';
import type { AttacksOptions } from '../program/attacks.ts';

/** `portcullis attacks cancel ID`. Again changes nothing. */
export async function cancelAttack(id: string, options: AttacksOptions): Promise<void> {
  const attackId = Number(id);
  if (!/^[1-9][0-9]*$/.test(id) || !Number.isSafeInteger(attackId)) {
    throw usageError(`an attack has a whole number, not ${id}`);
  }
  const cancelled = await withDatabase(options, (db) =>
    db.transaction().execute((tx) => cancelIn(tx, attackId, operator())),
  );
  if (cancelled === null) throw failed(`there is no attack ${id}`);
  const { subject, generation } = cancelled;
  if (options.json === true) printJson({ attack: attackId, subject, generation });
  else if (generation === null) print(`Nothing stood against attack ${id} on ${subject} any more.`);
  else {
    print(
      `What stood against attack ${id} on ${subject} is withdrawn by generation ${generation}.`,
    );
  }
}
