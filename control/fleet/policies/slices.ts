import { sql } from 'kysely';
import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, lastValue } from '@portcullis/core/net/cidr.ts';
import { rangeToCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Tx } from '../../db/database.ts';
import { storedCidr } from './assembly.ts';

/** A range of addresses whose policies are loaded together. */
export interface Slice {
  /** The range, or the requested part of it. */
  readonly cidrs: readonly Cidr[];
  /** The targets that begin in it: each belongs to one slice, also a prefix that reaches into others. */
  readonly begins: (target: Cidr) => boolean;
}

/** Loaded together without looking at how many objects they have. */
const ADDRESSES_PER_SLICE = 200;

/** Slices of a list of addresses, which need no look at the database. */
export function addressSlices(addresses: readonly Cidr[]): Slice[] {
  const slices: Slice[] = [];
  for (let first = 0; first < addresses.length; first += ADDRESSES_PER_SLICE) {
    const cidrs = addresses.slice(first, first + ADDRESSES_PER_SLICE);
    const values = new Set(cidrs.map(keyOf));
    slices.push({ cidrs, begins: (target) => isAddress(target) && values.has(keyOf(target)) });
  }
  return slices;
}

/**
 * Cuts the addresses of merged networks, or all addresses, so that each slice has about `weight` rules and other
 * objects. One address may have more.
 */
export async function loadSlices(
  tx: Tx,
  parts: readonly Cidr[] | 'all',
  weight: number,
): Promise<Slice[]> {
  const slices: Slice[] = [];
  for (const family of [4, 6] as const) {
    const within = parts === 'all' ? null : parts.filter((part) => part.family === family);
    const last = within === null ? ALL[family] : within.at(-1);
    const first = within === null ? ALL[family] : within[0];
    if (first === undefined || last === undefined) continue;
    const span = { family, first: first.value, last: lastValue(last) };
    const begins = await loadBegins(tx, span, weight);
    for (const [at, begin] of begins.entries()) {
      const range = {
        family,
        first: at === 0 ? span.first : begin,
        last: (begins[at + 1] ?? span.last + 1n) - 1n,
      };
      const cidrs =
        within === null ? rangeToCidrs(family, range.first, range.last) : cut(within, range);
      if (cidrs.length > 0) slices.push({ cidrs, begins: (target) => isIn(range, target) });
    }
  }
  return slices;
}

interface Range {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

const ALL: Readonly<Record<Family, Cidr>> = {
  4: { family: 4, value: 0n, length: 0 },
  6: { family: 6, value: 0n, length: 0 },
};

/** The first addresses of the slices. Every target begins at an address that is counted here. */
async function loadBegins(
  tx: Tx,
  { family, first, last }: Range,
  weight: number,
): Promise<bigint[]> {
  const [low = '', high = ''] = [first, last].map((value) => formatAddress({ family, value }));
  const begin = sql`set_masklen(t.prefix::inet, case family(t.prefix) when 4 then 32 else 128 end)`;
  const { rows } = await sql<{ begin: string }>`
    with keys as (
      select a.ip as begin, 1 + (select count(*) from rules r
                                  where r.address_id = a.id and r.deleted_generation is null) as weight
        from addresses a where a.ip >= ${low}::inet and a.ip <= ${high}::inet
      union all
      select ${begin}, 1 from (
        select cidr from holdings union all select target from group_assignments
        union all select target from geo_assignments union all select target from default_actions
        union all select target from mitigations union all select prefix from baseline_rules union all select ip::cidr from server_openings
      ) t (prefix)
       where ${begin} >= ${low}::inet and ${begin} <= ${high}::inet
    ), summed as (
      select begin, div(sum(weight) over (order by begin rows unbounded preceding), ${weight}::numeric) as slice
        from keys
    )
    select distinct host(min(begin)) as begin from summed group by slice`.execute(tx);
  const begins = rows
    .map((row) => storedCidr(row.begin).value)
    .toSorted((a, b) => (a < b ? -1 : 1));
  return begins.length === 0 ? [first] : begins;
}

/** The parts of sorted networks that are in the range. */
function cut(networks: readonly Cidr[], range: Range): Cidr[] {
  return networks.flatMap((network) => {
    const first = network.value > range.first ? network.value : range.first;
    const end = lastValue(network);
    const last = end < range.last ? end : range.last;
    return first <= last ? rangeToCidrs(range.family, first, last) : [];
  });
}

function isIn({ family, first, last }: Range, target: Cidr): boolean {
  return target.family === family && target.value >= first && target.value <= last;
}

function keyOf({ family, value }: Cidr): string {
  return `${family} ${value}`;
}

export function isAddress({ family, length }: Cidr): boolean {
  return length === BITS[family];
}
