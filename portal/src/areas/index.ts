import {
  Layers,
  Library,
  type LucideIcon,
  Network,
  Server,
  Settings,
  ShieldAlert,
  Telescope,
  UserRound,
} from 'lucide-react';
import type { LinkProps } from '@tanstack/react-router';
import { messages } from '../messages/index.ts';
import { useRole } from '../session/rights.ts';
import type { Role } from '../session/roles.ts';
import { useSession } from '../session/session.ts';

/** An entry of the navigation. README.md says how to add one. */
export interface Area {
  readonly path: NonNullable<LinkProps['to']>;
  readonly title: string;
  readonly icon: LucideIcon;
  /** The key that goes there after `g`. */
  readonly letter: string;
  /** Whether what it shows has no operation for API keys. */
  readonly isForPeople?: boolean;
  /** It shows all organisations, to operators. */
  readonly isForOperators?: boolean;
  /** The role in the organisation that it is of use to; operators see it without one, too. */
  readonly needs?: Role;
  /** Below the areas of the organisation, where it is the person's own. */
  readonly isInFoot?: boolean;
}

const AREAS: readonly Area[] = [
  { path: '/addresses', title: messages.addresses.title, icon: Network, letter: 'a' },
  { path: '/attacks', title: messages.attacks.title, icon: ShieldAlert, letter: 't' },
  {
    path: '/groups',
    title: messages.groups.title,
    icon: Layers,
    letter: 'p',
    isForPeople: true,
  },
  { path: '/servers', title: messages.servers.title, icon: Server, letter: 's' },
  {
    path: '/library',
    title: messages.shell.eggs,
    icon: Library,
    letter: 'l',
    isForPeople: true,
    needs: 'owner',
  },
  {
    path: '/settings',
    title: messages.settings.title,
    icon: Settings,
    letter: 'e',
    isForPeople: true,
  },
  {
    path: '/operator',
    title: messages.shell.operator,
    icon: Telescope,
    letter: 'o',
    isForPeople: true,
    isForOperators: true,
  },
  {
    path: '/account',
    title: messages.account.title,
    icon: UserRound,
    letter: 'u',
    isForPeople: true,
    isInFoot: true,
  },
];

/** The areas of the navigation for whoever is signed in. */
export function useAreas(): readonly Area[] {
  const { people, person } = useSession();
  const role = useRole();
  const isGuest = role === 'guest';
  return AREAS.filter(
    ({ path, isForPeople, isForOperators, isInFoot, needs }) =>
      (needs === undefined || needs === role || person?.operator === true) &&
      (!isGuest || path === '/servers' || isForOperators === true || isInFoot === true) &&
      (isForPeople !== true || people !== null) &&
      (isForOperators !== true || person?.operator === true),
  );
}

/** Whether the page at this path shows one organisation. */
export function isOfOrganisation(pathname: string): boolean {
  return !AREAS.some(
    ({ path, isForOperators, isInFoot, needs }) =>
      (isForOperators === true || isInFoot === true || needs !== undefined) &&
      pathname.startsWith(path),
  );
}
