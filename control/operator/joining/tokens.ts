import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { type RemoteCredential, formatCredential } from '@portcullis/link/credential.ts';
import { checkJoinProof, type JoinProof } from '@portcullis/link/join-key.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { type Actor, recordAudit, unauthenticated } from '../../access/index.ts';
import { agentExists, enrolAgent, type TokenMaker } from '../../agent-credential.ts';
import type { Tx } from '../../db/database.ts';
import { ensureInstallation, fingerprintOf, remoteCredential } from '../../nats/installation.ts';

/**
 * A token: its secret, and the SHA-256 of the authority's certificate by which a host knows control. Tokens of an
 * installation without NATS make credentials for its own host only.
 */
const PREFIX = 'pcj_';
const SECRET_BYTES = 24;

export interface NewToken {
  readonly agent: AgentRef;
  readonly expiresAt: Date;
  readonly needsApproval: boolean;
}

/** Makes a token, shown this once. Null if the fleet has no such agent. A maker of null: the command line on the database. */
export async function createToken(
  tx: Tx,
  { agent, expiresAt, needsApproval }: NewToken,
  actor: Actor,
  maker: TokenMaker | null = null,
): Promise<string | null> {
  if (!(await agentExists(tx, agent))) return null;
  const secret = PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
  const { kind, name } = agent;
  await sql`
    insert into join_tokens (secret_hash, kind, name, expires_at, needs_approval, maker_id, maker_key_id)
    values (${hashOf(secret)}, ${kind}, ${name}, ${expiresAt}, ${needsApproval},
            ${personOf(maker)}, ${keyOf(maker)})`.execute(tx);
  const target = `${kind}:${name}`;
  await recordAudit(tx, { actor, organisationId: null, action: 'token.create', target });
  return `${secret}.${fingerprintOf(await ensureInstallation(tx))}`;
}

/** A host that waits for approval. */
export interface WaitingHost {
  /** The fingerprint of the key that it made; the host shows it too. */
  readonly fingerprint: string;
  /** From where it presented the token last. */
  readonly source: string | null;
}

/** The hosts that wait with a token for this agent. More than one: somebody else has seen the token. */
export async function loadWaitingHosts(
  tx: Tx,
  { kind, name }: AgentRef,
): Promise<readonly WaitingHost[]> {
  const { rows } = await sql<WaitingHost>`
    select h.fingerprint, host(max(h.presented_from)) as source
      from join_hosts h join join_tokens t on t.id = h.token_id
     where t.kind = ${kind} and t.name = ${name} and t.used_at is null and t.expires_at > now()
     group by h.fingerprint order by max(h.presented_at) desc`.execute(tx);
  return rows;
}

/** Approves the host with this key, and no other. Null if none with it waits. */
export async function approveHost(
  tx: Tx,
  { kind, name }: AgentRef,
  fingerprint: string,
  actor: Actor,
): Promise<WaitingHost | null> {
  const { rows } = await sql<{ source: string | null }>`
    update join_tokens t set approved_at = now(), approved_fingerprint = h.fingerprint
      from join_hosts h
     where h.token_id = t.id and h.fingerprint = ${fingerprint} and t.kind = ${kind} and t.name = ${name}
       and t.needs_approval and t.used_at is null and t.expires_at > now()
    returning host(h.presented_from) as source`.execute(tx);
  const [row] = rows;
  if (row === undefined) return null;
  const target = `${kind}:${name}`;
  const detail = { fingerprint, source: row.source };
  await recordAudit(tx, { actor, organisationId: null, action: 'token.approve', target, detail });
  return { fingerprint, source: row.source };
}

export interface OpenToken {
  readonly kind: AgentRef['kind'];
  readonly name: string;
  readonly expiresAt: Date;
  readonly needsApproval: boolean;
  readonly approved: string | null;
  readonly hosts: readonly WaitingHost[];
}

/** The tokens that still work. */
export async function loadOpenTokens(tx: Tx): Promise<readonly OpenToken[]> {
  const { rows } = await sql<OpenToken>`
    select t.kind, t.name, t.expires_at as "expiresAt", t.needs_approval as "needsApproval",
           t.approved_fingerprint as approved,
           (select coalesce(json_agg(json_build_object('fingerprint', h.fingerprint, 'source', host(h.presented_from))
                                     order by h.presented_at desc), '[]')
              from join_hosts h where h.token_id = t.id) as hosts
      from join_tokens t where t.used_at is null and t.expires_at > now()
     order by t.kind, t.name, t.id`.execute(tx);
  return rows;
}

/** Withdraws every unused token for this agent. Returns their number. */
export async function withdrawTokens(tx: Tx, { kind, name }: AgentRef): Promise<number> {
  const { rows } = await sql`
    delete from join_tokens where kind = ${kind} and name = ${name} and used_at is null
    returning 1`.execute(tx);
  return rows.length;
}

function personOf(maker: TokenMaker | null): number | null {
  return maker !== null && 'personId' in maker ? maker.personId : null;
}

function keyOf(maker: TokenMaker | null): number | null {
  return maker !== null && 'keyId' in maker ? maker.keyId : null;
}

/** Whether the maker of a token could make it now. */
const COULD_MAKE = sql<boolean>`
  (maker_id is null or exists (
    select from people where id = maker_id and is_operator and disabled_at is null))
  and (maker_key_id is null or exists (
    select from api_keys
     where id = maker_key_id and organisation_id is null and 'operator.manage' = any(abilities)
       and revoked_at is null and suspended_at is null and (expires_at is null or expires_at > now())))`;

interface Presented {
  readonly kind: AgentRef['kind'];
  readonly token: string;
  /** Proof by the host's own key; a host of version 0.1 sends none. */
  readonly proof: JoinProof | null;
  readonly source: string | null;
  readonly requestId: string;
}

/**
 * Trades a token for a credential; null while an operator has not approved the key of this host. Throws `unauthenticated`
 * with the reason; two hosts with the same token: the row's lock lets one of them win, and where the token asks for
 * approval, only the one that was approved.
 */
export async function redeemToken(
  tx: Tx,
  { kind, token, proof, source, requestId }: Presented,
): Promise<{ readonly name: string; readonly credential: string | null }> {
  const [secret = ''] = token.split('.');
  const row = await tx
    .selectFrom('join_tokens')
    .selectAll()
    .select([sql<boolean>`expires_at <= now()`.as('is_expired'), COULD_MAKE.as('is_good')])
    .where('secret_hash', '=', hashOf(secret))
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw unauthenticated('This is no token of this installation.');
  const { name } = row;
  const again = `Make another: portcullis tokens create ${row.kind} --name ${name}`;
  if (row.kind !== kind) {
    throw unauthenticated(
      `This token is for the ${row.kind} ${name}: use "portcullis ${row.kind} join".`,
    );
  }
  if (row.used_at !== null) {
    throw unauthenticated(`This token was used at ${row.used_at.toISOString()}. ${again}`);
  }
  if (row.is_expired) {
    throw unauthenticated(`This token expired at ${row.expires_at.toISOString()}. ${again}`);
  }
  if (!row.is_good) {
    throw unauthenticated(`Whoever made this token may not make one any more. ${again}`);
  }
  if (row.needs_approval) {
    const fingerprint = provenKey(proof, kind, token);
    if (fingerprint !== row.approved_fingerprint) {
      await rememberHost(tx, row.id, { fingerprint, source });
      return { name, credential: null };
    }
  }
  const actor = { kind: 'system', name: `a token for ${kind} ${name}`, source, requestId } as const;
  const given = await enrolAgent(tx, { kind, name }, actor);
  if (given === null) {
    throw unauthenticated(`The fleet has no ${kind} ${name} any more: add it to the fleet file.`);
  }
  await sql`update join_tokens set used_at = now() where id = ${row.id}`.execute(tx);
  const installation = await ensureInstallation(tx);
  const remote: RemoteCredential = remoteCredential(installation, { kind, name }, given);
  return { name, credential: installation.servers.length === 0 ? given : formatCredential(remote) };
}

/** Throws `unauthenticated`. */
function provenKey(proof: JoinProof | null, kind: AgentRef['kind'], token: string): string {
  if (proof === null) {
    throw unauthenticated(
      'This token asks for approval, for which the host must have a key: upgrade portcullis on it.',
    );
  }
  const fingerprint = checkJoinProof(proof, kind, token);
  if (fingerprint === null) throw unauthenticated('This request is not signed by its key.');
  return fingerprint;
}

/** The newest are kept. */
const MAX_WAITING_HOSTS = 16;

async function rememberHost(
  tx: Tx,
  tokenId: number,
  { fingerprint, source }: WaitingHost,
): Promise<void> {
  await sql`
    insert into join_hosts (token_id, fingerprint, presented_from)
    values (${tokenId}, ${fingerprint}, ${source}::inet)
    on conflict (token_id, fingerprint) do update
       set presented_from = excluded.presented_from, presented_at = now()`.execute(tx);
  await sql`
    delete from join_hosts where (token_id, fingerprint) in (
      select token_id, fingerprint from join_hosts where token_id = ${tokenId}
       order by presented_at desc offset ${MAX_WAITING_HOSTS})`.execute(tx);
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
