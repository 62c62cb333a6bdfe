/** `2026-11-21T02:00:00+00:00`. */
export function timeView(moment: Date): string {
  return `${moment.toISOString().slice(0, 19)}+00:00`;
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name;
type Shown<Value> = Value extends Date ? string : Value;
export type View<T> = { readonly [Name in keyof T & string as SnakeCase<Name>]: Shown<T[Name]> };

/** Every member under its name in the interface, and moments as text; members of members as they are. */
export function viewOf<T extends object>(row: T): View<T> {
  const shown = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value instanceof Date ? timeView(value) : value,
  ]);
  return Object.fromEntries(shown) as View<T>;
}
