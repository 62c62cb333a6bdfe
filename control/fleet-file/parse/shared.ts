import type { DesiredHolding, DesiredOrganisation } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import type { Scope } from './scope.ts';

/** ASNs, services, and secrets are one organisation's, whichever it is. */
export function refuseSharedNumbers(
  organisations: readonly DesiredOrganisation[],
  scope: Scope,
): void {
  const seen = new Map<string, string>();
  const claim = (key: string, slug: string, at: Position, what: string): void => {
    const other = seen.get(key);
    if (other === undefined) seen.set(key, slug);
    else if (other !== slug) scope.refuseAt(at, `${what} belongs to ${other} already.`);
    else if (key.startsWith('secret ')) scope.refuseAt(at, `${what} is used twice.`);
  };
  for (const { slug, asns, services, keys } of organisations) {
    for (const { asn, at } of asns) claim(`asn ${asn}`, slug, at, `AS${asn}`);
    for (const { id, at } of services) claim(`service ${id}`, slug, at, `The service ${id}`);
    for (const { name, secret, at } of keys) {
      if (secret !== null) claim(`secret ${secret}`, slug, at, `The secret of the key ${name}`);
    }
  }
}

/** An address has one holder at any moment: equal holdings may follow each other, and not overlap. */
export function refuseOverlaps(organisations: readonly DesiredOrganisation[], scope: Scope): void {
  const holdings = organisations.flatMap(({ slug, holdings }) =>
    holdings.map((holding) => ({ slug, holding })),
  );
  const byCidr = Map.groupBy(holdings, ({ holding }) => holding.cidr);
  for (const [cidr, equal] of byCidr) {
    const ordered = equal.toSorted((a, b) => startOf(a.holding) - startOf(b.holding));
    for (const [index, { holding }] of ordered.entries()) {
      const before = ordered[index - 1];
      if (before === undefined || endOf(before.holding) <= startOf(holding)) continue;
      const { line } = before.holding.at;
      const message = `${cidr} is held by ${before.slug} at the same time (line ${line}).`;
      scope.refuseAt(holding.at, message);
    }
  }
}

/** Without `since` it began when it was first applied, which may have been any time ago. */
function startOf({ since }: DesiredHolding): number {
  return since?.getTime() ?? Number.NEGATIVE_INFINITY;
}

function endOf({ until }: DesiredHolding): number {
  return until?.getTime() ?? Number.POSITIVE_INFINITY;
}
