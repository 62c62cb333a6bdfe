import type {
  ConnectionLimits,
  Filter,
  Opening,
  PacketLimits,
  Roaming,
  RoamingKind,
  Signature,
  TcpFilter,
  Transport,
  UdpFilter,
} from './filter.ts';
import type { PortRange } from '../net/ports.ts';

/**
 * The combination of all filters of one port for one transport: a greeting of any filter passes, a reply of any filter
 * validates, and every limit and SYN proxy applies. A filter without signatures does not accept every packet if another
 * one has signatures, or a managed `udp-stateful` would disable the filter of a game. Equal programs are equal JSON.
 */
export type FilterProgram =
  | ({ readonly transport: 'udp'; readonly packets: PacketLimits } & Required<UdpFilter>)
  | ({ readonly transport: 'tcp'; readonly packets: PacketLimits } & Required<TcpFilter>);

export type UdpProgram = Extract<FilterProgram, { transport: 'udp' }>;
export type TcpProgram = Extract<FilterProgram, { transport: 'tcp' }>;

/** Null if none of the filters has the transport. */
export function combineFilters(
  filters: readonly Filter[],
  transport: Transport,
): FilterProgram | null {
  const packets = strictestPackets(
    filters.flatMap((filter) => (filter[transport] === null ? [] : (filter.packets ?? []))),
  );
  if (transport === 'udp')
    return combineUdp(
      filters.flatMap(({ udp }) => udp ?? []),
      packets,
    );
  return combineTcp(
    filters.flatMap(({ tcp }) => tcp ?? []),
    packets,
  );
}

/** Packets that every filter of the port lets pass: perhaps nothing. */
function strictestPackets(all: readonly PacketLimits[]): PacketLimits {
  const lengths = all.flatMap((one) => one.lengths ?? []);
  const ports = all.flatMap(({ sourcePorts }) => (sourcePorts === null ? [] : [sourcePorts]));
  return {
    lengths:
      lengths.length === 0
        ? null
        : {
            min: Math.max(...lengths.map(({ min }) => min)),
            max: Math.min(...lengths.map(({ max }) => max)),
          },
    sourcePorts: ports.length === 0 ? null : ports.reduce(intersect),
  };
}

function intersect(a: readonly PortRange[], b: readonly PortRange[]): PortRange[] {
  return a.flatMap((one) =>
    b
      .map((other) => ({
        low: Math.max(one.low, other.low),
        high: Math.min(one.high, other.high),
      }))
      .filter(({ low, high }) => low <= high),
  );
}

function combineUdp(filters: readonly UdpFilter[], packets: PacketLimits): UdpProgram | null {
  if (filters.length === 0) return null;
  const least = (of: (filter: UdpFilter) => number): number => Math.min(...filters.map(of));
  // One that no reply validates is no obstacle to another's.
  const replies = filters.flatMap((filter) => (filter.replies === null ? [] : [filter.replies]));
  return {
    transport: 'udp',
    packets,
    greetings: union(filters.map((filter) => filter.greetings)),
    replies: replies.length === 0 ? null : union(replies),
    data: dataOf(filters),
    roaming: roamingOf(filters),
    rates: {
      unvalidatedPps: least(({ rates }) => rates.unvalidatedPps),
      validatedPps: least(({ rates }) => rates.validatedPps),
    },
    budgetPps: least((filter) => filter.budgetPps),
    validatedSeconds: least((filter) => filter.validatedSeconds),
  };
}

/**
 * A filter whose packets do not roam, or are of fewer kinds, validates by its own replies, or by those of its
 * strictest.
 */
function roamingOf(filters: readonly UdpFilter[]): Roaming | null {
  const all = filters.flatMap(({ roaming }) => roaming ?? []);
  if (all.length === 0) return null;
  const kindOf = (index: number): RoamingKind => ({
    packets: union(all.map(({ kinds }) => kinds[index]?.packets ?? [])),
    replies: union(
      filters.map(({ roaming, replies }) => {
        const kind = roaming?.kinds[index] ?? roaming?.kinds.at(-1);
        return kind?.replies ?? replies ?? [];
      }),
    ),
  });
  return {
    kinds: all.some(({ kinds }) => kinds.length > 1) ? [kindOf(0), kindOf(1)] : [kindOf(0)],
    rates: {
      sourcePps: Math.min(...all.map(({ rates }) => rates.sourcePps)),
      budgetPps: Math.min(...all.map(({ rates }) => rates.budgetPps)),
    },
  };
}

/** A game without data signatures sends anything, beside another game too. */
function dataOf(filters: readonly UdpFilter[]): Signature[] {
  const games = filters.filter(({ greetings }) => greetings.length > 0);
  const sendsAnything = games.some(({ data }) => data.length === 0);
  return sendsAnything ? [] : union(filters.map(({ data }) => data));
}

function combineTcp(filters: readonly TcpFilter[], packets: PacketLimits): TcpProgram | null {
  if (filters.length === 0) return null;
  const newPerSecond = filters.flatMap((filter) => filter.newPerSecond ?? []);
  return {
    transport: 'tcp',
    packets,
    newPerSecond: newPerSecond.length === 0 ? null : Math.min(...newPerSecond),
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
