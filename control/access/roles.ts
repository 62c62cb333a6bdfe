import type { Role } from '@portcullis/contract/endpoint.ts';
import type { Ability } from '@portcullis/core/access/abilities.ts';

const READ: readonly Ability[] = ['firewall.read', 'attacks.read', 'game-servers.read'];
const MANAGE: readonly Ability[] = [...READ, 'firewall.manage', 'game-servers.manage'];

/** The abilities of a role in the interfaces for keys; rows of the portal name roles themselves. */
export const ROLE_ABILITIES: Readonly<Record<Role, ReadonlySet<Ability>>> = {
  'read-only': new Set(READ),
  member: new Set(MANAGE),
  admin: new Set(MANAGE),
  owner: new Set(MANAGE),
};
