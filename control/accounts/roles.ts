import { type ServerRight, ungiveable } from '@portcullis/core/access/server-rights.ts';
import { ROLES, type Role } from '@portcullis/contract/endpoint.ts';

/** An owner decides about every role, an administrator about those below its own, others about none. */
export function decidesAbout(own: Role | null, role: Role): boolean {
  if (own === 'owner') return true;
  return own === 'admin' && ROLES.indexOf(role) < ROLES.indexOf(own);
}

/** Whether one with these rights to a server may do this to a person there who has or gets the others. */
export function decidesAboutRights(
  own: ReadonlySet<ServerRight>,
  needed: ServerRight,
  others: readonly ServerRight[],
): boolean {
  return own.has(needed) && ungiveable(own, others).length === 0;
}
