import {
  accountClaims,
  agentClaims,
  controlClaims,
  operatorClaims,
} from '@portcullis/link/nats/claims.ts';
import type { NatsAccess } from '@portcullis/link/nats/connection.ts';
import { agentKey, NatsKey, replicasKey, SEED_BYTES } from '@portcullis/link/nats/keys.ts';
import type { RemoteCredential } from '@portcullis/link/credential.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { randomBytes, X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import type { KeyAndCertificate } from '../certificates.ts';
import type { Db, Tx } from '../db/database.ts';

/**
 * The keys of this installation on NATS: an operator, who signs the accounts; the account of NATS itself, by which
 * revocations are published; the account of the replicas of control; and the account of the fleet, which signs control's
 * and the agents' credentials.
 */
export interface NatsInstallation {
  readonly operator: NatsKey;
  readonly system: NatsKey;
  readonly replicas: NatsKey;
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
  const system = new NatsKey('account', row.system_seed);
  return {
    operator: new NatsKey('operator', row.operator_seed),
    system,
    replicas: replicasKey(system),
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

/** JWTs of the operator and of the accounts, by public name, that of the system first. */
export async function signAccounts(
  db: Db | Tx,
  { operator, system, replicas, account }: NatsInstallation,
): Promise<{ readonly operator: string; readonly accounts: Readonly<Record<string, string>> }> {
  const revocations = await db
    .selectFrom('nats_revocations')
    .select(['key', sql<number>`ceil(extract(epoch from revoked_at))::float8`.as('at')])
    .execute();
  const revoked = Object.fromEntries(revocations.map(({ key, at }) => [key, at]));
  const signed = (name: 'system' | 'replicas' | 'fleet', { publicName }: NatsKey): string =>
    accountClaims(operator, { name, publicName }, name === 'fleet' ? revoked : {});
  return {
    operator: operatorClaims(operator, system.publicName),
    accounts: {
      [system.publicName]: signed('system', system),
      [replicas.publicName]: signed('replicas', replicas),
      [account.publicName]: signed('fleet', account),
    },
  };
}

/** How control itself connects: with a key of this moment, in one of the accounts. */
export function controlAccess(
  installation: NatsInstallation,
  servers: readonly string[],
  account: 'system' | 'replicas' | 'account',
): NatsAccess {
  const { authority, [account]: signer } = installation;
  const key = new NatsKey('user');
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
