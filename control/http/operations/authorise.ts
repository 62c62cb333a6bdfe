import {
  type Endpoint,
  type OperatorEndpoint,
  type PortalEndpoint,
  ROLES,
} from '@portcullis/contract/endpoint.ts';
import { type Caller, type Identity, isCaller, personOf } from '../../access/index.ts';
import { Problem } from '../../problem.ts';
import type { OperationRow } from './operation.ts';

/**
 * Decides whether the sender may call an operation; no handler does. The sender is then of the kind that the row's
 * handler takes. Null: it was not asked for its credentials.
 */
export function authorise(row: OperationRow, by: Identity | null): void {
  if ('role' in row) return requireRole(row.role, by);
  if ('operator' in row) return requireOperator(row.operator, by);
  if (isCaller(by)) return requireAbility(row, by);
  throw new Problem(
    'ability_missing',
    "This key is the operator's, for /api/operator: here, use a key of the organisation.",
  );
}

function requireOperator(ability: OperatorEndpoint['operator'], by: Identity | null): void {
  if (personOf(by) !== null) return requireRole('operator', by);
  const isOperators = by?.kind === 'operator-key';
  if (isOperators && by.abilities.has(ability)) return;
  const detail = !isOperators
    ? 'This key is of an organisation: only a key of the operator may do this.'
    : `This key lacks the ability ${ability}. Use a key that has it.`;
  throw new Problem('ability_missing', detail);
}

function requireRole(role: PortalEndpoint['role'], by: Identity | null): void {
  if (role === 'anyone' || (role === 'user' && by?.kind === 'person')) return;
  if (role === 'operator') {
    if (by?.kind === 'person' && by.isOperator) return;
    throw new Problem('role_missing', 'Only an operator may do this.');
  }
  const rank = (one: string | null): number => ROLES.findIndex((each) => each === one);
  if (by?.kind === 'member' && rank(by.role) >= rank(role)) return;
  throw new Problem('role_missing', `This needs the role ${role} in the organisation.`);
}

/** Flag first, then ability. Flags close an area for keys only; a person may see all of its organisation. */
function requireAbility(row: Pick<Endpoint, 'ability' | 'flag'>, caller: Caller): void {
  if (row.ability === null) return;
  if (caller.kind !== 'key') {
    if (caller.abilities.has(row.ability)) return;
    throw new Problem(
      'ability_missing',
      caller.kind === 'member'
        ? `The role ${caller.role} does not have the ability ${row.ability}.`
        : `Your rights to single servers do not have the ability ${row.ability}.`,
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
