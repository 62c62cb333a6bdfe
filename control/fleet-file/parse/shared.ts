import type { DesiredAsn, DesiredHolding, DesiredOrganisation } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import type { Scope } from './scope.ts';

/** Refuses ASNs, service ids and secrets that more than one organisation names. */
export function refuseSharedNumbers(
  {
    organisations,
    operatorAsns,
  }: {
    readonly organisations: readonly DesiredOrganisation[];
    readonly operatorAsns: readonly DesiredAsn[];
  },
  scope: Scope,
): void {
  const ofOperator = new Set(operatorAsns.map(({ asn }) => asn));
  const seen = new Map<string, string>();
  const claim = (key: string, slug: string, at: Position, what: string): void => {
    const other = seen.get(key);
    if (other === undefined) seen.set(key, slug);
    else if (other !== slug) {
      const hint = key.startsWith('asn ')
        ? ' An ASN that several announce under goes into asns at the top of the file.'
        : '';
      scope.refuseAt(at, `${what} belongs to ${other} already.${hint}`);
    } else if (key.startsWith('secret ')) scope.refuseAt(at, `${what} is used twice.`);
  };
  for (const { slug, asns, services, keys } of organisations) {
    for (const { asn, at } of asns) {
      if (!ofOperator.has(asn)) claim(`asn ${asn}`, slug, at, `AS${asn}`);
      else scope.refuseAt(at, `AS${asn} is the operator's already: prefixes may name it as it is.`);
    }
    for (const { id, at } of services) claim(`service ${id}`, slug, at, `The service ${id}`);
    for (const { name, secret, at } of keys) {
      if (secret !== null) claim(`secret ${secret}`, slug, at, `The secret of the key ${name}`);
    }
  }
}

/** Refuses equal networks held at the same time: an address has one holder at any moment. */
export function refuseOverlaps(organisations: readonly DesiredOrganisation[], scope: Scope): void {
  const holdings = organisations.flatMap(({ slug, holdings }) =>
    holdings.map((holding) => ({ slug, holding })),
  );
  const byCidr = Map.groupBy(holdings, ({ holding }) => holding.cidr);
  for (const [cidr, equal] of byCidr) {
    const ordered = equal.toSorted((a, b) => startOf(a.holding) - startOf(b.holding));
    for (const [index, { holding }] of ordered.entries()) {
      const previous = ordered[index - 1];
      if (previous === undefined || endOf(previous.holding) <= startOf(holding)) continue;
      const { line } = previous.holding.at;
      const message = `${cidr} is held by ${previous.slug} at the same time (line ${line}).`;
      scope.refuseAt(holding.at, message);
    }
  }
}

/** The start of a holding: without `since`, a holding started when it was first applied, at an unknown time. */
function startOf({ since }: DesiredHolding): number {
  return since?.getTime() ?? Number.NEGATIVE_INFINITY;
}

function endOf({ until }: DesiredHolding): number {
  return until?.getTime() ?? Number.POSITIVE_INFINITY;
}
