import { tagDigest as digest } from '@portcullis/link/file-tags.ts';

/**
 * The strong entity tag of a representation. `state`: the part that a later write depends on, which `If-Match` compares
 * alone (`sameState`), so that confirmations of edges between a read and a replace do not fail the replace.
 */
export function entityTag(payload: string | Buffer, state?: string): string {
  return state === undefined ? `"${digest(payload)}"` : `"${digest(state)}.${digest(payload)}"`;
}

/** Whether an `If-Match` header allows a write to the state with this tag. `*` needs any state at all. */
export function sameState(ifMatch: string, state: string): boolean {
  const wanted = digest(state);
  return listTags(ifMatch).some((tag) => {
    if (tag === '*') return true;
    // A weak tag never matches strongly (RFC 9110, 13.1.1).
    return tag.startsWith('"') && tag.slice(1, -1).split('.')[0] === wanted;
  });
}

/** The tag of the same representation, compressed: a strong tag names bytes. */
export function gzipTag(etag: string): string {
  return etag.replace(/"$/, '~gzip"');
}

/** Whether `If-None-Match` names the representation that the caller would get (weak comparison). */
export function namesTag(ifNoneMatch: string, etag: string): boolean {
  return listTags(ifNoneMatch).some((tag) => tag === '*' || plain(tag) === plain(etag));
}

/** A tag without the marks of a weak and of a compressed representation. */
function plain(tag: string): string {
  return tag.replace(/^W\//, '').replace(/~gzip"$/, '"');
}

/** `gzip` or `*` in Accept-Encoding, and not with a weight of 0 (RFC 9110, 12.5.3). */
export function takesGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const item of String(header ?? '').split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((one) => one.startsWith('q='))?.slice(2) ?? '1';
    weights.set(coding, Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function listTags(header: string): string[] {
  return header.match(/\*|(?:W\/)?"[^"]*"/g) ?? [];
}
