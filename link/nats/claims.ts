import { hash } from 'node:crypto';
import type { AgentRef } from '../messages/messages.ts';
import { MAX_MESSAGE_BYTES } from '../transport/transport.ts';
import { base32, type NatsKey } from './keys.ts';
import { permissionsOf } from './subjects.ts';

/**
 * The JWTs by which NATS servers know who may connect. Source: docs.nats.io, "JWTs" and github.com/nats-io/jwt. Times are
 * in seconds since 1970.
 */

/**
 * NATS takes a missing limit for 0: no imports, exports and leaf nodes. `conn` bounds no single user, and lowering it on a
 * live account cuts connections (nats-server 6766).
 */
const ACCOUNT_LIMITS = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: 0,
  exports: 0,
  wildcards: true,
  conn: -1,
  leaf: 0,
};
/**
 * The limit of one connection in the account of the fleet: it holds for credentials that were made without limits
 * too. An agent needs 5, a replica of control 3.
 */
const MAX_SUBSCRIPTIONS = 64;
const FLEET_LIMITS = { ...ACCOUNT_LIMITS, subs: MAX_SUBSCRIPTIONS, payload: MAX_MESSAGE_BYTES };
const MAX_AGENT_SUBSCRIPTIONS = 16;

/** An agent answers a call at most once, within the longest time that control waits. */
const ANSWERS = { max: 1, ttl: 60_000_000_000 };

export function operatorClaims(operator: NatsKey, systemAccount: string): string {
  return encodeClaims(operator, operator.publicName, 'portcullis', {
    type: 'operator',
    system_account: systemAccount,
  });
}

/** `revoked`: users by their key, with the time up to which their JWTs are void. */
export function accountClaims(
  operator: NatsKey,
  account: { readonly name: 'system' | 'replicas' | 'fleet'; readonly publicName: string },
  revoked: Readonly<Record<string, number>> = {},
): string {
  return encodeClaims(operator, account.publicName, account.name, {
    type: 'account',
    limits: account.name === 'fleet' ? FLEET_LIMITS : ACCOUNT_LIMITS,
    default_permissions: {},
    ...(Object.keys(revoked).length > 0 && { revocations: revoked }),
  });
}

/** Control may use every subject of the account. */
export function controlClaims(account: NatsKey, user: string): string {
  return userClaims(account, user, 'control', { subs: -1, payload: -1 });
}

export function agentClaims(account: NatsKey, user: string, agent: AgentRef): string {
  const { publish, subscribe } = permissionsOf(agent);
  return userClaims(account, user, `${agent.kind}:${agent.name}`, {
    pub: { allow: publish },
    sub: { allow: subscribe },
    resp: ANSWERS,
    subs: MAX_AGENT_SUBSCRIPTIONS,
    // An agent of version 0.1 refuses a server that offers less; control has a limit for each kind.
    payload: MAX_MESSAGE_BYTES,
  });
}

/** `data` is the number of bytes in all; no NATS server counts them. */
function userClaims(account: NatsKey, user: string, name: string, claims: object): string {
  return encodeClaims(account, user, name, { type: 'user', data: -1, ...claims });
}

function encodeClaims(issuer: NatsKey, subject: string, name: string, nats: object): string {
  const claims = {
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.publicName,
    name,
    sub: subject,
    nats: { ...nats, version: 2 },
  };
  const jti = base32(hash('sha256', JSON.stringify(claims), 'buffer'));
  const signed = [
    { typ: 'JWT', alg: 'ed25519-nkey' },
    { jti, ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${issuer.sign(signed)}`;
}
