import type { DesiredOrganisation } from '../desired.ts';
import type { Scope } from './scope.ts';

/** Refuses secrets that more than one key has. */
export function refuseSharedSecrets(
  organisations: readonly DesiredOrganisation[],
  scope: Scope,
): void {
  const seen = new Map<string, string>();
  for (const { slug, keys } of organisations) {
    for (const { name, secret, at } of keys) {
      if (secret === null) continue;
      const other = seen.get(secret);
      seen.set(secret, other ?? slug);
      if (other === undefined) continue;
      const why = other === slug ? 'is used twice' : `belongs to ${other} already`;
      scope.refuseAt(at, `The secret of the key ${name} ${why}.`);
    }
  }
}
