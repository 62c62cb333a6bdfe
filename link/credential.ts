import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { array, check, matching, nullable, object, oneOf, type Static } from './messages/schema.ts';
import { agentName } from './messages/values.ts';
import { MAX_CREDENTIAL_LENGTH } from './transport/transport.ts';

const line = matching(/^[\x21-\x7e]{1,10000}$/, 'a word');
const pem = matching(/^-----BEGIN [A-Z ]+-----[A-Za-z0-9+/=\s-]+$/, 'PEM');

const document = object({
  kind: oneOf('edge', 'node', 'collector'),
  name: agentName,
  secret: matching(/^[\x21-\x7e]{1,256}$/, 'a credential'),
  nats: object({
    /** URLs, `tls://HOST:PORT`. */
    servers: array(line, 100),
    jwt: line,
    /** The authority of the servers' certificates; null: those of the system. */
    ca: nullable(pem),
  }),
});
export type RemoteCredential = Static<typeof document>;

/**
 * The proof that an agent presents to control. The secret alone is for the socket of control's host; a JSON document
 * also says how control is reached over NATS.
 */
export type Credential =
  | { readonly secret: string; readonly remote: null }
  | { readonly secret: string; readonly remote: RemoteCredential };

/** Reads the contents of a credential file. The reason quotes nothing of it. */
export function parseCredential(text: string): Parsed<Credential> {
  if (!text.startsWith('{')) {
    return text.length <= MAX_CREDENTIAL_LENGTH
      ? { ok: true, value: { secret: text, remote: null } }
      : { ok: false, reason: 'a credential is no longer than 256 characters' };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'the credential begins like JSON and is none' };
  }
  const read = check(document, value);
  if (!read.ok) return { ok: false, reason: `the credential is invalid: ${read.reason}` };
  return { ok: true, value: { secret: read.value.secret, remote: read.value } };
}

export function formatCredential(remote: RemoteCredential): string {
  return JSON.stringify(remote);
}
