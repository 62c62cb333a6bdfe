import {
  createClient,
  type KeyClient,
  type SessionClient,
  type WhoAmI,
} from '@portcullis/client/index.ts';
import { createContext, use } from 'react';

export type Person = WhoAmI['data'];

/** Whom the page acts for, and the client that it uses for everything. */
export interface Session {
  readonly identity: Identity;
  readonly client: KeyClient;
  /** The same client with the operations of people; null with an API key, which has none of them. */
  readonly people: SessionClient | null;
  /** Null with an API key. */
  readonly person: Person | null;
  /** The slug of the organisation; null with an API key, which belongs to one, and for an operator without one. */
  readonly organisation: string | null;
  signOut(reason?: string): void;
  changeOrganisation(slug: string): void;
  /** An operator begins to act for an organisation; null: stops. */
  actFor(slug: string | null): Promise<void>;
  /** Reads again who is signed in, after a change of a name, a role or the organisation that an operator acts for. */
  refreshPerson(): Promise<void>;
}

/** How somebody signed in. */
export type Identity =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'person'; readonly person: Person };

export const SessionContext = createContext<Session | null>(null);

/** The session of the page. Only components below the shell may use it, because they show only when signed in. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error('useSession needs a session: use it below the shell');
  return session;
}

/** Whether the session has an organisation: an operator may have none, and then nothing of one to load or to follow. */
export function useHasOrganisation(): boolean {
  const { person, organisation } = useSession();
  return person === null || organisation !== null;
}

/** The client with the operations of people, for what stands below a `<RoleGate>`. */
export function usePeopleClient(): SessionClient {
  const { people } = useSession();
  if (people === null)
    throw new Error('an API key has no operations of people: use <RoleGate needs="person">');
  return people;
}

/** The client of the cookie's session, for operations without an organisation. */
export const personClient: SessionClient = createClient();

export function clientsOf(
  identity: Identity,
  organisation: string,
): Pick<Session, 'client' | 'people'> {
  if (identity.kind === 'key') return { client: createClient({ key: identity.key }), people: null };
  const people = createClient({ organisation });
  return { client: people, people };
}

const KEY = 'portcullis.key';
const SIGNED_IN = 'portcullis.signed-in';
const ORGANISATION = 'portcullis.organisation';

/** The key lives as long as the tab, and is in no cookie, so no other site can make the browser send it. */
export function loadIdentity(): Identity | null {
  const key = read(sessionStorage, KEY);
  return key === null ? null : { kind: 'key', key };
}

/** Whether a cookie may hold a session, so that only then the service is asked who it is. */
export function mayBeSignedIn(): boolean {
  return read(localStorage, SIGNED_IN) !== null;
}

export function saveIdentity(identity: Identity | null): void {
  write(sessionStorage, KEY, identity?.kind === 'key' ? identity.key : null);
  write(localStorage, SIGNED_IN, identity?.kind === 'person' ? '1' : null);
}

/** The organisation that was chosen now or the last time, if the person still belongs to it. */
export function chosenOrganisation(
  { organisations, acting_for }: Person,
  chosen: string | null,
): string | null {
  const wanted = [chosen, acting_for, lastOrganisation()];
  const known = wanted.find((slug) => organisations.some((each) => each.slug === slug));
  return known ?? organisations[0]?.slug ?? null;
}

/** The organisation that was chosen the last time in this browser. */
export function lastOrganisation(): string | null {
  return read(localStorage, ORGANISATION);
}

export function saveOrganisation(slug: string): void {
  write(localStorage, ORGANISATION, slug);
}

/** Where storage is blocked, a session lasts until the page is reloaded. */
function read(storage: Storage, name: string): string | null {
  try {
    return storage.getItem(name);
  } catch {
    return null;
  }
}

function write(storage: Storage, name: string, value: string | null): void {
  try {
    if (value === null) storage.removeItem(name);
    else storage.setItem(name, value);
  } catch {
    // As above.
  }
}
