import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(argon2);

/** OWASP's first choice of 2025 for argon2id: 46 MiB, one pass, one lane. */
const COST = { memory: 47_104, passes: 1, parallelism: 1 } as const;
const TAG_LENGTH = 32;
const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** argon2id in PHC format, with the cost, so that a later cost leaves earlier hashes readable. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await tagOf(password, nonce, COST, TAG_LENGTH);
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(tag)}`;
}

/** `stored` null (no such person) takes as long as a wrong password, and is false. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', tag = ''] = PHC.exec(stored ?? '') ?? [];
  const wanted = Buffer.from(tag, 'base64');
  if (stored === null || wanted.length === 0) {
    await tagOf(password, Buffer.alloc(16), COST, TAG_LENGTH);
    return false;
  }
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  };
  const found = await tagOf(password, Buffer.from(nonce, 'base64'), cost, wanted.length);
  return timingSafeEqual(found, wanted);
}

/** Composed and decomposed characters are the same password. */
function tagOf(
  password: string,
  nonce: Buffer,
  cost: { readonly memory: number; readonly passes: number; readonly parallelism: number },
  tagLength: number,
): Promise<Buffer> {
  return derive('argon2id', { message: password.normalize('NFKC'), nonce, tagLength, ...cost });
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
