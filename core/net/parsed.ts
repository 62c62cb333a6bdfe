/** What every parser returns: the value, or why not, in words a person can act on. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function failed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
