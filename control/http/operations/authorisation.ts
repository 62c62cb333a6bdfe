import { ROLES } from '@portcullis/contract/endpoint.ts';
import type { Caller, Person } from '../../access/index.ts';
import { Problem } from '../../problem.ts';
import type { Endpoint, PortalEndpoint } from '@portcullis/contract/endpoint.ts';
import type { OperationRow } from './operation.ts';

/** No handler decides who may call it: the row of the endpoint does. */
export function authorise(row: OperationRow, caller: Caller | null, person: Person | null): void {
  if ('role' in row) return requireRole(row.role, person);
  if (caller === null) throw new Error('an operation for keys was reached without a caller');
  requireAbility(row, caller);
}

function requireRole(role: PortalEndpoint['role'], person: Person | null): void {
  if (role === 'anyone' || (role === 'user' && person !== null)) return;
  if (role === 'operator') {
    if (person?.isOperator === true) return;
    throw new Problem('role_missing', 'Only an operator may do this.');
  }
  const rank = (one: string | null | undefined): number => ROLES.findIndex((each) => each === one);
  if (rank(person?.role) >= rank(role)) return;
  throw new Problem('role_missing', `This needs the role ${role} in the organisation.`);
}

/** Flag first, then ability. Flags close an area for keys only; a person may see all of its organisation. */
function requireAbility(row: Pick<Endpoint, 'ability' | 'flag'>, caller: Caller): void {
  if (row.ability === null) return;
  const { person } = caller;
  if (person !== undefined) {
    if (caller.abilities.has(row.ability)) return;
    throw new Problem(
      'ability_missing',
      `The role ${person.role} does not have the ability ${row.ability}.`,
    );
  }
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
