import { hash } from 'node:crypto';
import type { AgentRef } from '../messages/messages.ts';
import { base32, type NatsKey } from './keys.ts';
import { permissionsOf } from './subjects.ts';

/**
 * The JWTs by which NATS servers know who may connect. Source: docs.nats.io, "JWTs" and github.com/nats-io/jwt. Times are
 * in seconds since 1970.
 */

/** NATS takes a missing limit for 0. */
const UNLIMITED = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: -1,
};
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
  account: { readonly name: string; readonly publicName: string },
  revoked: Readonly<Record<string, number>> = {},
): string {
  return encodeClaims(operator, account.publicName, account.name, {
    type: 'account',
    limits: UNLIMITED,
    default_permissions: {},
    ...(Object.keys(revoked).length > 0 && { revocations: revoked }),
  });
}

/** Control may use every subject of its account. */
export function controlClaims(account: NatsKey, user: string): string {
  return userClaims(account, user, 'control', {});
}

export function agentClaims(account: NatsKey, user: string, agent: AgentRef): string {
  const { publish, subscribe } = permissionsOf(agent);
  return userClaims(account, user, `${agent.kind}:${agent.name}`, {
    pub: { allow: publish },
    sub: { allow: subscribe },
    resp: ANSWERS,
  });
}

function userClaims(account: NatsKey, user: string, name: string, permissions: object): string {
  const limits = { subs: -1, data: -1, payload: -1 };
  return encodeClaims(account, user, name, { type: 'user', ...permissions, ...limits });
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
