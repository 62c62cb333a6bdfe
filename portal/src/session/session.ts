import { createClient, type KeyClient } from '@portcullis/client/index.ts';
import { createContext, use } from 'react';

/** Whom the page acts for, and the client that it uses for everything. */
export interface Session {
  readonly client: KeyClient;
  signOut(reason?: string): void;
}

export const SessionContext = createContext<Session | null>(null);

/** The session of the page. Only components below the shell may use it, because they show only when signed in. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error('useSession needs a session: use it below the shell');
  return session;
}

export function clientOf(key: string): KeyClient {
  return createClient({ key });
}

/** The key lives as long as the tab, and is in no cookie, so no other site can make the browser send it. */
const STORED = 'portcullis.key';

export function loadKey(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}

export function saveKey(key: string | null): void {
  try {
    if (key === null) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, key);
  } catch {
    // Storage is blocked: the key lasts until the page is reloaded.
  }
}
