import { createHash } from 'node:crypto';
import { failed, type Parsed, parsed } from '@portcullis/core/net/parsed.ts';

/** A public key of SSH. */
export interface SshKey {
  readonly type: string;
  /** The form of the wire, RFC 4253 section 6.6. */
  readonly blob: Buffer;
  /** The comment behind it, which usually names its machine; empty: none. */
  readonly comment: string;
}

/** The longest line that is read: an RSA key of 8,192 bits takes 1,400 characters. */
export const MAX_KEY_LINE = 4_096;
const MIN_RSA_BITS = 2_048;
const MAX_RSA_BITS = 8_192;
/** Bytes of an Ed25519 key, and of uncompressed points of the curves. */
const POINT_BYTES: Readonly<Record<string, number>> = {
  'ssh-ed25519': 32,
  'ecdsa-sha2-nistp256': 65,
  'ecdsa-sha2-nistp384': 97,
  'ecdsa-sha2-nistp521': 133,
};
const LINE =
  /^(?<type>[a-z0-9@.-]{1,64})[ \t]+(?<blob>[A-Za-z0-9+/]+={0,2})(?:[ \t]+(?<comment>.*))?$/;

/** Parses a line of a `.pub` file, without options before it. */
export function parseSshKey(text: string): Parsed<SshKey> {
  const line = text.trim();
  if (line.length > MAX_KEY_LINE) return failed('is longer than 4096 characters');
  if (line.startsWith('-----BEGIN')) {
    return failed('is a private key: keep it to yourself, and send the line of its .pub file');
  }
  const { type = '', blob: base64 = '', comment = '' } = LINE.exec(line)?.groups ?? {};
  if (type === '') return failed('is no public key: it begins with ssh-ed25519 or ssh-rsa');
  const blob = Buffer.from(base64, 'base64');
  const fields = fieldsOf(blob);
  if (fields?.[0]?.toString('latin1') !== type) return failed('is not whole');
  const lack = lackOf(type, fields);
  return lack === null ? parsed({ type, blob, comment: comment.trim() }) : failed(lack);
}

/** The fingerprint of a key as `ssh-keygen -l` shows it. */
export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** Why a key is not taken; null if it is. */
function lackOf(type: string, fields: readonly Buffer[]): string | null {
  if (type === 'ssh-rsa') {
    const bits = bitsOf(fields[2] ?? Buffer.alloc(0));
    if (fields.length !== 3) return 'is not whole';
    if (bits < MIN_RSA_BITS) return `has ${bits} bits, and RSA needs ${MIN_RSA_BITS}`;
    return bits > MAX_RSA_BITS ? `has more than ${MAX_RSA_BITS} bits` : null;
  }
  const bytes = POINT_BYTES[type];
  if (bytes === undefined) {
    return 'is of a kind that is not taken; ssh-ed25519, ecdsa and ssh-rsa are';
  }
  const isWhole =
    fields.length === (type === 'ssh-ed25519' ? 2 : 3) && fields.at(-1)?.length === bytes;
  return isWhole ? null : 'is not whole';
}

function bitsOf(number: Buffer): number {
  const first = number.findIndex((byte) => byte !== 0);
  if (first === -1) return 0;
  return (number.length - first - 1) * 8 + (32 - Math.clz32(number[first] ?? 0));
}

/** The strings of a key; null if they do not fill it. */
function fieldsOf(blob: Buffer): readonly Buffer[] | null {
  const fields: Buffer[] = [];
  let at = 0;
  while (at + 4 <= blob.length && fields.length < 4) {
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return null;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return at === blob.length ? fields : null;
}
