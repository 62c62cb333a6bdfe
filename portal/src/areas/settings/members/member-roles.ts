import { ROLES, type Role } from '../../../session/roles.ts';

/** The roles that somebody with a role gives and takes: an owner all, an administrator those below its own. */
export function rolesBelow(own: string | null): readonly Role[] {
  if (own === 'owner') return ROLES;
  return ROLES.slice(0, Math.max(0, rank(own)));
}

/** Whether somebody with a role decides about a member with another. */
export function mayDecide(own: string | null, role: string): boolean {
  return rolesBelow(own).some((each) => each === role);
}

function rank(role: string | null): number {
  return ROLES.findIndex((each) => each === role);
}
