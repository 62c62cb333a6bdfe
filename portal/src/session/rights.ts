import { messages } from '../messages/index.ts';
import { type Role, ROLES } from './roles.ts';
import { useSession } from './session.ts';

/** The role in the organisation; an operator that acts for it is an owner. Null with an API key. */
export function useRole(): string | null {
  const { person, organisation } = useSession();
  return person?.organisations.find(({ slug }) => slug === organisation)?.role ?? null;
}

/**
 * Why whoever is signed in may not do what needs this role; null when they may. With an API key: what the service
 * answers, except for what only people can do.
 */
export function useRefusal(needed: Role, isForPeople = false): string | null {
  const { person } = useSession();
  const role = useRole();
  if (person === null) return isForPeople ? messages.gate.key : null;
  const rank = ROLES.findIndex((each) => each === role);
  return rank >= ROLES.indexOf(needed) ? null : messages.needsRole(needed);
}
