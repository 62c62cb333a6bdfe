import { ROLES, type Role } from '@portcullis/contract/endpoint.ts';

/** An owner decides about every role, an administrator about those below its own, others about none. */
export function decidesAbout(own: Role | null, role: Role): boolean {
  if (own === 'owner') return true;
  return own === 'admin' && ROLES.indexOf(role) < ROLES.indexOf(own);
}
