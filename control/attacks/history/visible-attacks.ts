import { type RawBuilder, sql } from 'kysely';
import { BITS, parseAddress } from '@portcullis/core/net/address.ts';
import {
  type Cidr,
  cidrOfAddress,
  containsCidr,
  formatCidr,
  overlaps,
  parseCidr,
} from '@portcullis/core/net/cidr.ts';

/** A present holding, which makes the attacks inside it visible. */
export interface VisibleHolding {
  readonly id: number;
  readonly cidr: Cidr;
  readonly asn: number | null;
  readonly since: Date;
}

/** The attacks that a caller may see. */
export interface Reach {
  readonly organisationId: number;
  /** The present holdings of active services. */
  readonly holdings: readonly VisibleHolding[];
  /** More specific holdings inside them, of any organisation. */
  readonly carved: readonly Cidr[];
  /** The prefixes that the key is bound to. Null: all. */
  readonly bounds: readonly Cidr[] | null;
}

/** The filters of a request, combined. */
export interface AttackFilters {
  readonly ip: Cidr | null;
  readonly prefix: Cidr | null;
  readonly asn: number | null;
}

/** The holdings whose attacks can be in the list. */
export function filterHoldings(
  { holdings }: Reach,
  { ip, prefix, asn }: AttackFilters,
): VisibleHolding[] {
  const announced = holdings.filter((one) => one.asn === asn);
  return holdings.filter(
    ({ cidr }) =>
      (ip === null || containsCidr(cidr, ip)) &&
      (prefix === null || overlaps(cidr, prefix)) &&
      (asn === null || announced.some((outer) => containsCidr(outer.cidr, cidr))),
  );
}

/**
 * The SQL condition for rows of `attacks a` that the caller may see and that match the request's filters. The only
 * place that decides this.
 */
export function withinReach(
  reach: Reach,
  narrowing: AttackFilters,
  holdings: readonly VisibleHolding[],
): RawBuilder<unknown> {
  const conditions = [
    sql`a.organisation_id = ${reach.organisationId}
        and a.holding_id = any(${holdings.map(({ id }) => id)}::bigint[])`,
    ...narrowed(narrowing, holdings),
    ...stillHad(reach.carved, holdings),
  ];
  if (reach.bounds !== null) {
    conditions.push(sql`a.subject <<= any(${reach.bounds.map(formatCidr)}::cidr[])`);
  }
  return sql.join(conditions, sql` and `);
}

function narrowed(
  { ip, prefix }: AttackFilters,
  holdings: readonly VisibleHolding[],
): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [];
  if (ip !== null) {
    // An attack on a whole prefix is shown under the prefix's network address.
    const prefixes = holdings.filter(({ cidr }) => cidr.value === ip.value).map(({ cidr }) => cidr);
    const subjects = new Set([ip, ...prefixes].map(formatCidr));
    conditions.push(sql`a.subject = any(${[...subjects]}::cidr[])`);
  }
  if (prefix !== null) conditions.push(sql`a.subject <<= ${formatCidr(prefix)}::cidr`);
  return conditions;
}

/** A more specific holding excludes its addresses from the wider ones. */
function stillHad(
  carved: readonly Cidr[],
  holdings: readonly VisibleHolding[],
): RawBuilder<unknown>[] {
  const relevant = carved.filter((cidr) =>
    holdings.some((one) => one.cidr.length < cidr.length && containsCidr(one.cidr, cidr)),
  );
  const isSingle = ({ family, length }: Cidr): boolean => length === BITS[family];
  const conditions: RawBuilder<unknown>[] = [];
  const around = holdings.filter(({ cidr }) => !isSingle(cidr)).map(({ id }) => id);
  const singles = relevant.filter(isSingle).map(formatCidr);
  if (singles.length > 0) {
    conditions.push(
      sql`not (a.subject = any(${singles}::cidr[]) and a.holding_id = any(${around}::bigint[]))`,
    );
  }
  for (const cidr of relevant.filter((one) => !isSingle(one))) {
    const outside = holdings
      .filter((one) => one.cidr.length < cidr.length && containsCidr(one.cidr, cidr))
      .map(({ id }) => id);
    conditions.push(
      sql`not (a.subject <<= ${formatCidr(cidr)}::cidr and a.holding_id = any(${outside}::bigint[]))`,
    );
  }
  return conditions;
}

/**
 * Excludes attacks that started before their holding, in case the start of a holding was corrected. For `all` holdings,
 * or only those that began after `since`.
 */
export function sinceHeld(
  holdings: readonly VisibleHolding[],
  after: Date | 'all',
): RawBuilder<unknown> {
  const checked = after === 'all' ? holdings : holdings.filter(({ since }) => since > after);
  if (checked.length === 0) return sql`true`;
  const ids = checked.map(({ id }) => id);
  const since = checked.map((one) => one.since.toISOString());
  return sql`(a.holding_id <> all(${ids}::bigint[]) or exists (
    select from unnest(${ids}::bigint[], ${since}::timestamptz[]) h (id, since)
     where h.id = a.holding_id and a.started_at >= h.since))`;
}

/** PostgreSQL's text of a cidr. */
export function storedCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw new Error(`the database holds ${text}: ${cidr.reason}`);
  return cidr.value;
}

/** Null if it is no valid address. */
export function addressAsCidr(text: string): Cidr | null {
  const address = parseAddress(text);
  return address.ok ? cidrOfAddress(address.value) : null;
}
