import { hash } from 'node:crypto';

/** A strong entity tag of this representation. */
export function contentTag(payload: string | Buffer): string {
  return `"${digest(payload)}"`;
}

/**
 * A strong tag in two parts: the state that a later write depends on, and the rest. `If-Match` compares only the first
 * (`sameState`), so that confirmations of edges between a read and a replace do not fail the replace; `If-None-Match`
 * compares both.
 */
export function stateTag(state: string, payload: string | Buffer): string {
  return `"${digest(state)}.${digest(payload)}"`;
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

/** Whether `If-None-Match` names the representation that the caller would get (weak comparison). */
export function namesTag(ifNoneMatch: string, etag: string): boolean {
  return listTags(ifNoneMatch).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag);
}

function listTags(header: string): string[] {
  return header.match(/\*|(?:W\/)?"[^"]*"/g) ?? [];
}

function digest(text: string | Buffer): string {
  return hash('sha256', text, 'base64url').slice(0, 27);
}
