import {
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

/** First byte of an encoded public key; it gives the first letter. Source: github.com/nats-io/nkeys. */
const PREFIXES = { operator: 14 << 3, account: 0, user: 20 << 3 } as const;
export type KeyKind = keyof typeof PREFIXES;

export const SEED_BYTES = 32;
/** The bytes that precede the seed in a PKCS #8 document of Ed25519 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** An Ed25519 key as NATS names it: `O…`, `A…` or `U…`. */
export class NatsKey {
  readonly publicName: string;
  readonly seed: Buffer;
  readonly #key: KeyObject;

  constructor(kind: KeyKind, seed: Buffer = randomBytes(SEED_BYTES)) {
    this.seed = seed;
    this.#key = createPrivateKey({
      key: Buffer.concat([PKCS8, seed]),
      format: 'der',
      type: 'pkcs8',
    });
    const { x } = createPublicKey(this.#key).export({ format: 'jwk' });
    this.publicName = encode(PREFIXES[kind], Buffer.from(x ?? '', 'base64url'));
  }

  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#key).toString('base64url');
  }
}

/** Prefix, key and checksum in base32 without padding. */
function encode(prefix: number, key: Buffer): string {
  const named = Buffer.concat([Buffer.of(prefix), key]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(named));
  return base32(Buffer.concat([named, checksum]));
}

export function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits = bits.match(/.{1,5}/g) ?? [];
  return digits.map((five) => BASE32.charAt(Number.parseInt(five.padEnd(5, '0'), 2))).join('');
}

/** CRC-16/XMODEM. */
function crc16(bytes: Buffer): number {
  return bytes.reduce((crc, byte) => {
    let next = crc ^ (byte << 8);
    for (let bit = 0; bit < 8; bit += 1) {
      next = (next & 0x80_00) === 0 ? next << 1 : (next << 1) ^ 0x10_21;
    }
    return next & 0xff_ff;
  }, 0);
}

/** The key by which NATS knows an agent, made of the credential that it presents to control. */
export function agentKey(credential: string): NatsKey {
  return new NatsKey('user', hash('sha256', `portcullis nats ${credential}`, 'buffer'));
}

/** The key of the account of the replicas, made of that of NATS itself, which only the database holds. */
export function replicasKey(system: NatsKey): NatsKey {
  const seed = hash('sha256', Buffer.concat([REPLICAS, system.seed]), 'buffer');
  return new NatsKey('account', seed);
}
const REPLICAS = Buffer.from('portcullis nats replicas ');
