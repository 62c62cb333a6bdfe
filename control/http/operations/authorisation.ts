import type { Caller } from '../../access/index.ts';
import { Problem } from '../../problem.ts';
import type { OperationRow } from './operation.ts';

/** Flag first, then ability, both from the endpoint's row: no handler decides who may call it. */
export function authorise(row: OperationRow, caller: Caller): void {
  if (row.flag !== null && !caller.organisation.flags.has(row.flag)) {
    throw new Problem(
      'area_not_enabled',
      `This area is not enabled for the organisation (${row.flag}). The operator's staff enable it on request.`,
    );
  }
  if (!caller.abilities.has(row.ability)) {
    throw new Problem(
      'ability_missing',
      `This key lacks the ability ${row.ability}. Use a key that has it.`,
    );
  }
}
