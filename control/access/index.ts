import type { Logger } from 'pino';
import type { Db, Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';
import {
  admit,
  COOKIES,
  KeyCache,
  type KnownKey,
  parseAuthorization,
  toKnownKey,
  unauthenticated,
  UnknownKeyBudget,
} from './authenticate.ts';
import type { KeyHolder, Session } from './caller.ts';
import { loadKeyByHash } from './key-store.ts';
import { hashSecret } from './keys.ts';
import { createLastUse } from './last-use.ts';
import { hashToken, loadSession, readCookie, sessionCookieName } from './sessions.ts';

export type { Actor, AuditEntry } from './audit.ts';
export { keyActor, operatorActor, personActor, recordAudit, recordAudits } from './audit.ts';
export type {
  Caller,
  Guest,
  Identity,
  Key,
  Member,
  Operator,
  OperatorKey,
  OrganisationLimits,
  Person,
  Session,
} from './caller.ts';
export { holderIdOf, isCaller, personOf } from './caller.ts';
export {
  findHolding,
  type HeldPrefix,
  type Holder,
  listHeldPrefixes,
  loadHolder,
  reachesNetwork,
} from './reach.ts';
export {
  adoptKeys,
  type KeyView,
  listKeys,
  type NewKey,
  notifyAccess,
  revokeKeys,
  suspendKeys,
} from './key-store.ts';
export { unauthenticated } from './authenticate.ts';
export {
  changeKeys,
  createKey,
  createKeys,
  generateSecret,
  hashSecret,
  revokeKey,
  storeKeys,
} from './keys.ts';
export { rightsOn, seesServer, type ServerHolder, withinReach } from './reach.ts';
export { holdRight, takeRight, waitForWrites } from './held-rights.ts';
export { hashToken, readCookie, sessionCookieName } from './sessions.ts';
export { findOrganisation, listOrganisations } from './organisation-store.ts';

export interface Access {
  /**
   * Authenticates by the Authorization header and the canonical source address ('' if unknown). Throws
   * `unauthenticated`, or `rate_limited` where too many unknown keys came from. A change of the key takes effect
   * within a second on every replica.
   */
  authenticate(authorization: string | undefined, source: string): Promise<KeyHolder>;
  /** Like `authenticate`, from the database as it is now: for the transaction that writes. */
  authenticateAgain(
    db: Db | Tx,
    authorization: string | undefined,
    source: string,
  ): Promise<KeyHolder>;
  /**
   * The person of a session cookie; with the slug of an organisation, the member and what it may do there. Throws
   * `unauthenticated`, `not_found` for an organisation that it has no role in, and `rate_limited` where too many
   * cookies of no session came from.
   */
  authenticateSession(
    cookie: string | undefined,
    organisation: string | null,
    source: string,
  ): Promise<Session>;
  /** Like `authenticateSession`, by this connection, and without counting as a request of the session. */
  authenticateSessionAgain(
    db: Db | Tx,
    cookie: string | undefined,
    organisation: string | null,
  ): Promise<Session>;
  /** Calls back when keys, sessions or roles may have changed; returns what stops that. */
  onChange(listener: () => void): () => void;
  /** Called on a notification of `portcullis_access`: clears the cache of keys, and calls the listeners. */
  forget(): void;
  /** Stores the last use of keys. */
  stop(): Promise<void>;
}

export interface AccessDeps {
  readonly db: Db;
  readonly log: Logger;
  /** The name of the cookie of sessions; default: that for https. */
  readonly sessionCookie?: string;
  /** The clock for the expiry of keys. */
  readonly clock?: () => Date;
}

export function createAccess({
  db,
  log,
  sessionCookie = sessionCookieName('https:'),
  clock = () => new Date(),
}: AccessDeps): Access {
  const keys = createKeyReader(db, clock);
  const readSession = createSessionReader(db, sessionCookie);
  const lastUse = createLastUse(db, log);
  const listeners = new Set<() => void>();
  return {
    async authenticate(authorization, source) {
      const holder = await keys.read(authorization, source);
      lastUse.record(holder.by.keyId, clock());
      return holder;
    },
    authenticateAgain: (now, ...sent) => keys.readNow(now, ...sent),
    async authenticateSession(...sent) {
      const { touch, ...session } = await readSession(...sent);
      await touch?.();
      return session;
    },
    async authenticateSessionAgain(now, cookies, slug) {
      const { touch: _, ...session } = await loadSession(now, cookies, sessionCookie, slug);
      return session;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    forget() {
      keys.forget();
      for (const listener of listeners) listener();
    },
    stop: () => lastUse.stop(),
  };
}

/** Reads the session of a cookie by one query, which is charged to the source unless the session exists. */
function createSessionReader(db: Db, cookieName: string) {
  const budget = new UnknownKeyBudget(undefined, COOKIES);

  return async (cookies: string | undefined, slug: string | null, source: string) => {
    const token = readCookie(cookies, cookieName);
    if (token === null) return loadSession(db, cookies, cookieName, slug);
    const name = hashToken(token).toString('base64');
    budget.take(name, source);
    try {
      const session = await loadSession(db, cookies, cookieName, slug);
      budget.found(name, source);
      return session;
    } catch (error) {
      const code = error instanceof Problem ? error.code : null;
      if (code === 'unauthenticated') budget.unknown(name);
      // The session is there, and its person is not in this organisation.
      else if (code === 'not_found') budget.found(name, source);
      else budget.giveBack(source);
      throw error;
    }
  };
}

interface KeyReader {
  /** From the cache of a second, or by one query, which is charged to the source unless the key exists. */
  read(authorization: string | undefined, source: string): Promise<KeyHolder>;
  readNow(db: Db | Tx, authorization: string | undefined, source: string): Promise<KeyHolder>;
  forget(): void;
}

function createKeyReader(db: Db, clock: () => Date): KeyReader {
  const cache = new KeyCache<KnownKey>(() => performance.now());
  const budget = new UnknownKeyBudget();

  async function load(hash: Buffer, name: string, source: string): Promise<KnownKey | null> {
    budget.take(name, source);
    const found = await loadKeyByHash(db, hash).catch((error: unknown) => {
      budget.giveBack(source);
      throw error;
    });
    if (found === null) {
      budget.unknown(name);
      return null;
    }
    budget.found(name, source);
    return toKnownKey(found);
  }

  return {
    async read(authorization, source) {
      const hash = hashOf(authorization);
      const name = hash.toString('base64');
      return admit(await cache.get(name, () => load(hash, name, source)), source, clock());
    },
    async readNow(now, authorization, source) {
      const found = await loadKeyByHash(now, hashOf(authorization));
      return admit(found && toKnownKey(found), source, clock());
    },
    forget: () => cache.clear(),
  };
}

/** The look-up is by hash, so its time reveals nothing about a guess. */
function hashOf(authorization: string | undefined): Buffer {
  const secret = parseAuthorization(authorization);
  if (!secret.ok) throw unauthenticated(secret.reason);
  return hashSecret(secret.value);
}
