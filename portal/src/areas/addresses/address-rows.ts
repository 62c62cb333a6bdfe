import type { Attack, HeldAddress } from '@portcullis/client/index.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { containsAddress, parseCidr } from '@portcullis/core/net/cidr.ts';

export interface AddressRow extends HeldAddress {
  /** Its place in the order of the service: IPv4 first, ascending. */
  readonly index: number;
  readonly ongoing: number;
  /** Attacks of the last day. */
  readonly attacks: number;
  readonly peakBps: number;
  readonly peakText: string;
  /** The attack to look at: an ongoing one, else the newest of the last day. */
  readonly attackId: number | null;
  /** The tags of its own rules; none with an API key, which may not read them. */
  readonly tags: readonly string[];
}

export type AddressFilter = 'all' | 'attacked' | 'configured' | 'bare';

/** The tags of addresses whose rules have notes or tags. */
export type Tags = ReadonlyMap<string, readonly string[]>;

/** Joins what is held with the attacks of the last day and with tags, in the order of the service. */
export function rowsOf(
  addresses: readonly HeldAddress[],
  attacks: readonly Attack[],
  tags: Tags,
): AddressRow[] {
  const byAddress = Map.groupBy(attacks, ({ destination_ip }) => destination_ip);
  return addresses.map((address, index) => {
    const own = byAddress.get(address.ip) ?? [];
    const peak = own.reduce<Attack | null>(
      (highest, one) => (highest === null || one.peak_bps > highest.peak_bps ? one : highest),
      null,
    );
    return {
      ...address,
      index,
      ongoing: own.filter(({ status }) => status === 'ongoing').length,
      attacks: own.length,
      peakBps: peak?.peak_bps ?? 0,
      peakText: peak?.peak_bps_formatted ?? '',
      attackId: (own.find(({ status }) => status === 'ongoing') ?? own[0])?.id ?? null,
      tags: tags.get(address.ip) ?? [],
    };
  });
}

const FILTERS: Readonly<Record<AddressFilter, (row: AddressRow) => boolean>> = {
  all: () => true,
  attacked: (row) => row.attacks > 0,
  configured: (row) => row.rules_count + row.filters_count > 0,
  bare: (row) => row.rules_count + row.filters_count === 0,
};

export interface Wanted {
  readonly search: string;
  readonly filter: AddressFilter;
  /** Null: with any tags. */
  readonly tag: string | null;
  /** Where a note contains the search. */
  readonly noted: Pick<ReadonlySet<string>, 'has'>;
}

/**
 * A search is a part of an address, a CIDR block that contains it, the number of its service, or a part of that
 * service's name, of a tag or of a note of its rules.
 */
export function searchRows(
  rows: readonly AddressRow[],
  { search, filter, tag, noted }: Wanted,
): AddressRow[] {
  const wanted = search.trim().toLowerCase();
  const block = wanted.includes('/') ? parseCidr(wanted) : null;
  const matches = (row: AddressRow): boolean => {
    if (wanted === '') return true;
    if (block?.ok === true) {
      const address = parseAddress(row.ip);
      return address.ok && containsAddress(block.value, address.value);
    }
    return (
      row.ip.includes(wanted) ||
      String(row.service_id ?? '') === wanted ||
      row.service_name?.toLowerCase().includes(wanted) === true ||
      row.tags.some((each) => each.toLowerCase().includes(wanted)) ||
      noted.has(row.ip)
    );
  };
  const hasTag = (row: AddressRow): boolean => tag === null || row.tags.includes(tag);
  return rows.filter((row) => FILTERS[filter](row) && hasTag(row) && matches(row));
}
