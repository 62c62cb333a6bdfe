import { hash } from 'node:crypto';

/** Digests of the parts of a launch: a node reports them in place of values, of which some are secrets. */
export function launchDigests(
  parts: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const digests = Object.entries(parts).map(([part, value]) => [
    part,
    hash('sha256', value, 'hex').slice(0, 16),
  ]);
  return Object.fromEntries(digests) as Readonly<Record<string, string>>;
}
