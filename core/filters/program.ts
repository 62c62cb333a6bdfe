import type { ConnectionLimits, Filter, Signature } from './filter.ts';

/**
 * The combination of all filters of one port: a greeting of any filter passes, a reply of any filter validates, and
 * every limit and SYN proxy applies. A filter without signatures does not accept every packet if another one has
 * signatures, or a managed `udp-stateful` would disable the filter of a game. Equal programs are equal JSON.
 */
export interface FilterProgram {
  readonly transport: Filter['transport'];
  /** None: any packet greets. */
  readonly greetings: readonly Signature[];
  /** None: any reply validates. */
  readonly replies: readonly Signature[];
  readonly unvalidatedPps: number;
  readonly validatedPps: number;
  readonly budgetPps: number;
  readonly validatedSeconds: number;
  readonly synProxy: boolean;
  readonly connections: ConnectionLimits | null;
}

/** At least one filter, all of one transport. */
export function combineFilters(filters: readonly Filter[]): FilterProgram {
  const [first] = filters;
  if (first === undefined) throw new Error('no filters to combine');
  const least = (of: (filter: Filter) => number): number => Math.min(...filters.map(of));
  return {
    transport: first.transport,
    greetings: union(filters.map((filter) => filter.greetings)),
    replies: union(filters.map((filter) => filter.replies)),
    unvalidatedPps: least((filter) => filter.rates.unvalidatedPps),
    validatedPps: least((filter) => filter.rates.validatedPps),
    budgetPps: least((filter) => filter.budgetPps),
    validatedSeconds: least((filter) => filter.validatedSeconds),
    synProxy: filters.some((filter) => filter.synProxy),
    connections: strictest(filters.flatMap(({ connections }) => connections ?? [])),
  };
}

/** Sorted, independent of the input order. */
function union(lists: readonly (readonly Signature[])[]): Signature[] {
  const distinct = new Map(lists.flat().map((one) => [JSON.stringify(one), one]));
  return [...distinct].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function strictest(limits: readonly ConnectionLimits[]): ConnectionLimits | null {
  if (limits.length === 0) return null;
  return {
    perSecond: Math.min(...limits.map(({ perSecond }) => perSecond)),
    concurrent: Math.min(...limits.map(({ concurrent }) => concurrent)),
  };
}
