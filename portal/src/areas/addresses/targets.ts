import type { Addresses } from './queries.ts';

/** The characters that end a target while it is typed. */
export const SEPARATORS = [',', ' ', '\n', ';'];

/** Each target once, also where several were pasted as one. */
export function splitTargets(typed: readonly string[]): string[] {
  return [...new Set(typed.flatMap((one) => one.split(/[\s,;]+/)).filter(Boolean))];
}

/** Prefixes first, because one of them covers the most. */
export function suggestTargets({ prefixes, addresses }: Addresses): string[] {
  return [...new Set([...prefixes.map(({ prefix }) => prefix), ...addresses.map(({ ip }) => ip)])];
}
