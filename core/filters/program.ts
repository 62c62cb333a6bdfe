import type {
  ConnectionLimits,
  Filter,
  Opening,
  Signature,
  TcpFilter,
  Transport,
  UdpFilter,
} from './filter.ts';

/**
 * The combination of all filters of one port for one transport: a greeting of any filter passes, a reply of any filter
 * validates, and every limit and SYN proxy applies. A filter without signatures does not accept every packet if another
 * one has signatures, or a managed `udp-stateful` would disable the filter of a game. Equal programs are equal JSON.
 */
export type FilterProgram =
  | ({ readonly transport: 'udp' } & UdpFilter)
  | ({ readonly transport: 'tcp' } & TcpFilter);

export type UdpProgram = Extract<FilterProgram, { transport: 'udp' }>;
export type TcpProgram = Extract<FilterProgram, { transport: 'tcp' }>;

/** Null if none of the filters has the transport. */
export function combineFilters(
  filters: readonly Filter[],
  transport: Transport,
): FilterProgram | null {
  if (transport === 'udp') return combineUdp(filters.flatMap(({ udp }) => udp ?? []));
  return combineTcp(filters.flatMap(({ tcp }) => tcp ?? []));
}

function combineUdp(filters: readonly UdpFilter[]): UdpProgram | null {
  if (filters.length === 0) return null;
  const least = (of: (filter: UdpFilter) => number): number => Math.min(...filters.map(of));
  // One that no reply validates is no obstacle to another's.
  const replies = filters.flatMap((filter) => (filter.replies === null ? [] : [filter.replies]));
  return {
    transport: 'udp',
    greetings: union(filters.map((filter) => filter.greetings)),
    replies: replies.length === 0 ? null : union(replies),
    data: dataOf(filters),
    rates: {
      unvalidatedPps: least(({ rates }) => rates.unvalidatedPps),
      validatedPps: least(({ rates }) => rates.validatedPps),
    },
    budgetPps: least((filter) => filter.budgetPps),
    validatedSeconds: least((filter) => filter.validatedSeconds),
  };
}

/** A game without data signatures sends anything, beside another game too. */
function dataOf(filters: readonly UdpFilter[]): Signature[] {
  const games = filters.filter(({ greetings }) => greetings.length > 0);
  const sendsAnything = games.some(({ data }) => data.length === 0);
  return sendsAnything ? [] : union(filters.map(({ data }) => data));
}

function combineTcp(filters: readonly TcpFilter[]): TcpProgram | null {
  if (filters.length === 0) return null;
  return {
    transport: 'tcp',
    openings: union(filters.map((filter) => filter.openings)),
    synProxy: filters.some((filter) => filter.synProxy),
    validatedPps: Math.min(...filters.map((filter) => filter.validatedPps)),
    connections: strictest(filters.flatMap(({ connections }) => connections ?? [])),
  };
}

/** Sorted, independent of the input order. */
function union<T extends Opening | Signature>(lists: readonly (readonly T[])[]): T[] {
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
