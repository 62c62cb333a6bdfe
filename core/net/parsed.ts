/** The result of every parser: the value, or a reason to act on. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function failed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
