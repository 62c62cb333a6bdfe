import { hash } from 'node:crypto';

/** The digest that entity tags are made of. */
export function tagDigest(text: string | Buffer): string {
  return hash('sha256', text, 'base64url').slice(0, 27);
}

/** The strong entity tag of the plain bytes of a file in this state, by control and by links of a node. */
export function bytesTag(state: string): string {
  return `"${tagDigest(state)}.bytes"`;
}
