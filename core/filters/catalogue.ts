import type { Filter } from './filter.ts';
import { tcpSynProxy } from './tcp-syn-proxy.ts';
import { udpStateful } from './udp-stateful.ts';

/** All filters. A new filter is a file in this folder and a line here. */
export const FILTERS = [tcpSynProxy, udpStateful] as const satisfies readonly Filter[];

export type FilterType = (typeof FILTERS)[number]['type'];

/** The filters that a service manages by default. */
export const DEFAULT_MANAGED_FILTERS: readonly FilterType[] = ['tcp-syn-proxy', 'udp-stateful'];

export function findFilter(type: string): Filter<FilterType> | null {
  return FILTERS.find((filter) => filter.type === type) ?? null;
}

/** The filters that a caller may apply to an address: all except those that its service manages. */
export function availableFilters(managed: readonly FilterType[]): readonly Filter<FilterType>[] {
  return FILTERS.filter((filter) => !managed.includes(filter.type));
}
