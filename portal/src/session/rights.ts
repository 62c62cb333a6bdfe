import { messages } from '../messages/index.ts';
import { useSession } from './session.ts';

/** Each includes those before it. */
const ROLES = ['read-only', 'member', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Why whoever is signed in may not do what needs this role; null when they may. With an API key: what the service answers. */
export function useRefusal(needed: Role): string | null {
  const { person, organisation } = useSession();
  if (person === null) return null;
  if (person.acting_for === organisation && organisation !== null) return null;
  const role = person.organisations.find(({ slug }) => slug === organisation)?.role;
  const rank = ROLES.findIndex((each) => each === role);
  return rank >= ROLES.indexOf(needed) ? null : messages.needsRole(needed);
}
