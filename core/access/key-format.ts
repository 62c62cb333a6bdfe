import { failed, type Parsed, parsed } from '../net/parsed.ts';

/**
 *     key      = "pcl_" body checksum
 *     body     = 40 base62 characters, about 238 bits of randomness
 *     checksum = 6 base62 characters: CRC-32 (ISO-HDLC, as in zlib) of the body, leading zeros kept
 *
 * The prefix lets secret scanners find a leaked key; the checksum tells a mistyped key from an unknown one
 * without asking the database.
 */
export const KEY_PREFIX = 'pcl_';
export const KEY_BODY_LENGTH = 40;
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${KEY_BODY_LENGTH + CHECKSUM_LENGTH}}$`);

/** `body`: `KEY_BODY_LENGTH` base62 characters, from a source of randomness that the caller has. */
export function formatKey(body: string): string {
  return `${KEY_PREFIX}${body}${keyChecksum(body)}`;
}

/** Gives the body of a well-formed key. Reasons never repeat the text: it may be a secret. */
export function parseKey(text: string): Parsed<string> {
  if (!text.startsWith(KEY_PREFIX)) return failed(`a key begins with ${KEY_PREFIX}`);
  if (!FORM.test(text)) {
    return failed(
      `a key is ${KEY_PREFIX} and ${KEY_BODY_LENGTH + CHECKSUM_LENGTH} letters and digits`,
    );
  }
  const body = text.slice(KEY_PREFIX.length, KEY_PREFIX.length + KEY_BODY_LENGTH);
  if (formatKey(body) !== text)
    return failed('the checksum does not fit: a character is missing or mistyped');
  return parsed(body);
}

export function keyChecksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Bitwise, because the text is short; the standard check value is crc32("123456789") = 0xcbf43926. */
function crc32(ascii: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < ascii.length; index++) {
    crc ^= ascii.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
