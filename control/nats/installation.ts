import {
  accountClaims,
  agentClaims,
  controlClaims,
  operatorClaims,
} from '@portcullis/link/nats/claims.ts';
import type { NatsAccess } from '@portcullis/link/nats/connection.ts';
import { agentKey, NatsKey, SEED_BYTES } from '@portcullis/link/nats/keys.ts';
import type { RemoteCredential } from '@portcullis/link/credential.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { randomBytes, X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import type { KeyAndCertificate } from '../certificates.ts';
import type { Db, Tx } from '../db/database.ts';

/**
 * The keys of this installation on NATS: an operator, who signs the accounts; the account of NATS itself, by which
 * revocations are published; and the account of the fleet, which signs control's and the agents' credentials.
 */
export interface NatsInstallation {
  readonly operator: NatsKey;
  readonly system: NatsKey;
  readonly account: NatsKey;
  /** Signs the certificates of the NATS servers. */
  readonly authority: KeyAndCertificate;
  /** URLs for agents. */
  readonly servers: readonly string[];
}

/** Null if it was not made yet. */
export async function loadInstallation(db: Db | Tx): Promise<NatsInstallation | null> {
  const row = await db.selectFrom('nats').selectAll().executeTakeFirst();
  if (row === undefined) return null;
  return {
    operator: new NatsKey('operator', row.operator_seed),
    system: new NatsKey('account', row.system_seed),
    account: new NatsKey('account', row.account_seed),
    authority: { key: row.authority_key, cert: row.authority_cert },
    servers: row.servers,
  };
}

/** Makes it at the first call; of several at once all get the same. */
export async function ensureInstallation(db: Db | Tx): Promise<NatsInstallation> {
  const found = await loadInstallation(db);
  if (found !== null) return found;
  // Control starts without the library of certificates.
  const { createAuthority } = await import('../certificates.ts');
  const { key, cert } = await createAuthority();
  const [operator, system, account] = [0, 1, 2].map(() => randomBytes(SEED_BYTES));
  await sql`
    insert into nats (operator_seed, system_seed, account_seed, authority_key, authority_cert)
    values (${operator}, ${system}, ${account}, ${key}, ${cert}) on conflict do nothing`.execute(
    db,
  );
  const made = await loadInstallation(db);
  if (made === null) throw new Error('the keys of NATS were removed while they were made');
  return made;
}

/** Names the URLs for agents. */
export async function saveServers(db: Db, servers: readonly string[]): Promise<void> {
  await sql`update nats set servers = ${servers} where servers is distinct from ${servers}`.execute(
    db,
  );
}

/** JWTs of the operator and of both accounts, by public name, that of the system first. */
export async function signAccounts(
  db: Db | Tx,
  { operator, system, account }: NatsInstallation,
): Promise<{ readonly operator: string; readonly accounts: Readonly<Record<string, string>> }> {
  const revocations = await db
    .selectFrom('nats_revocations')
    .select(['key', sql<number>`ceil(extract(epoch from revoked_at))::float8`.as('at')])
    .execute();
  const revoked = Object.fromEntries(revocations.map(({ key, at }) => [key, at]));
  const names = { system: { name: 'system', publicName: system.publicName } };
  return {
    operator: operatorClaims(operator, system.publicName),
    accounts: {
      [system.publicName]: accountClaims(operator, names.system),
      [account.publicName]: accountClaims(
        operator,
        { name: 'fleet', publicName: account.publicName },
        revoked,
      ),
    },
  };
}

/** How control itself connects: with a key of this moment, in the fleet's account or in that of the system. */
export function controlAccess(
  { account, system, authority }: NatsInstallation,
  servers: readonly string[],
  as: 'control' | 'system',
): NatsAccess {
  const key = new NatsKey('user');
  const signer = as === 'control' ? account : system;
  return {
    servers,
    key,
    jwt: controlClaims(signer, key.publicName),
    ca: caFor(servers, authority),
  };
}

/** The credential with which an agent reaches control over NATS. */
export function remoteCredential(
  { account, authority, servers }: NatsInstallation,
  { kind, name }: AgentRef,
  secret: string,
): RemoteCredential {
  const jwt = agentClaims(account, agentKey(secret).publicName, { kind, name });
  return { kind, name, secret, nats: { servers, jwt, ca: caFor(servers, authority) } };
}

/** Servers with plain URLs are on this host alone. */
function caFor(servers: readonly string[], { cert }: KeyAndCertificate): string | null {
  return servers.some((url) => url.startsWith('tls:')) ? cert : null;
}

/** SHA-256 of the authority's certificate, in hexadecimal. */
export function fingerprintOf({ authority }: NatsInstallation): string {
  return new X509Certificate(authority.cert).fingerprint256.replaceAll(':', '').toLowerCase();
}
