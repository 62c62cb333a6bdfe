import type { Ability } from '@portcullis/core/access/abilities.ts';
import type { Logger } from 'pino';
import type { Db, Tx } from '../db/database.ts';
import {
  admit,
  type KnownKey,
  parseAuthorization,
  toKnownKey,
  unauthenticated,
} from './authenticate.ts';
import type { Caller } from './caller.ts';
import type { Holding } from './holding-store.ts';
import { findHolding, type HeldPrefix, type Holder, listHeldPrefixes } from './holdings.ts';
import { KeyCache } from './key-cache.ts';
import { loadKeyByHash } from './key-store.ts';
import { hashSecret } from './keys.ts';
import { createLastUse } from './last-use.ts';
import { type ServerHolder, seesServer } from './server-scope.ts';

export type { Actor } from './audit.ts';
export { recordAudit } from './audit.ts';
export type { Caller } from './caller.ts';
export type { Holding } from './holding-store.ts';
export type { HeldPrefix, Holder } from './holdings.ts';
export { notifyAccess } from './key-store.ts';
export type { KeyView, NewKey } from './keys.ts';
export { createKey, generateSecret, hashSecret, listKeys, revokeKey } from './keys.ts';
export { type ServerHolder, withinReach } from './server-scope.ts';
export { findOrganisation, listOrganisations } from './organisation-store.ts';

export interface Access {
  /**
   * Who calls: by the Authorization header, and the canonical address it came from ('' when unknown).
   * Throws `unauthenticated`. A change of the key shows within a second on every replica.
   */
  authenticate(authorization: string | undefined, source: string): Promise<Caller>;
  /** The holding by which the caller has this address now; null is 404. */
  findHolding(db: Db | Tx, caller: Holder, ip: string): Promise<Holding | null>;
  /** Whether a key with this ability reaches the server of this uuid; false is 404. */
  seesServer(db: Db | Tx, caller: ServerHolder, ability: Ability, uuid: string): Promise<boolean>;
  /** What the caller holds now and may touch. */
  listHeldPrefixes(db: Db | Tx, caller: Holder): Promise<HeldPrefix[]>;
  /** Called on a notification of `portcullis_access`: nothing known of keys holds any longer. */
  forget(): void;
  /** Stores when keys were last used. */
  stop(): Promise<void>;
}

export interface AccessDeps {
  readonly db: Db;
  readonly log: Logger;
  /** What keys expire by. */
  readonly clock?: () => Date;
}

export function createAccess({ db, log, clock = () => new Date() }: AccessDeps): Access {
  const cache = new KeyCache<KnownKey | null>(() => performance.now());
  const lastUse = createLastUse(db, log);

  async function load(hash: Buffer): Promise<KnownKey | null> {
    const found = await loadKeyByHash(db, hash);
    return found && toKnownKey(found);
  }

  return {
    async authenticate(authorization, source) {
      const secret = parseAuthorization(authorization);
      if (!secret.ok) throw unauthenticated(secret.reason);
      // Looked up by its hash, so no comparison of ours can tell by its time how much of a guess was right.
      const hash = hashSecret(secret.value);
      const known = await cache.get(hash.toString('base64'), () => load(hash));
      const now = clock();
      const caller = admit(known, source, now);
      lastUse.record(caller.keyId, now);
      return caller;
    },
    findHolding,
    seesServer,
    listHeldPrefixes,
    forget: () => cache.clear(),
    stop: () => lastUse.stop(),
  };
}
