/** In this order, because each of them names those after it too. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** A browser and its system in a few words, by its User-Agent; null when neither is known. */
export function describeAgent(agent: string | null): {
  readonly browser: string | null;
  readonly system: string | null;
} {
  const find = (known: readonly (readonly [string, string])[]): string | null =>
    known.find(([part]) => agent?.includes(part) === true)?.[1] ?? null;
  return { browser: find(BROWSERS), system: find(SYSTEMS) };
}
