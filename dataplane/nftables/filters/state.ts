import { FILTER_REASONS, type FilterReason } from '@portcullis/core/filters/reasons.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { RenderedChain } from '../chain.ts';
import { ADDRESS_TYPE, IP } from '../names.ts';

/**
 * What filters remember, in sets that the kernel fills. All of fixed size, all of typed keys (nft 1.0.6 aborts when
 * it lists raw ones).
 */
export type FilterState =
  /** Client address and port, server address and port: the server has answered. */
  | 'validated'
  /** Limits by client address, server address and port. */
  | 'validated_rate'
  | 'unvalidated_rate'
  /** Limits by server address and port, of addresses and of members of prefixes, who may be too many. */
  | 'budget'
  | 'budget_prefix'
  /** New connections, and connections there are, by client address, server address and port. */
  | 'connection_rate'
  | 'connections'
  /**
   * Client address and port, server address and port: a connection from before the SYN proxy, of which the client
   * and the server are still to be told that it is gone.
   */
  | 'reset_client'
  | 'reset_server'
  /**
   * Client address and port, server address and port, protocol; or both addresses and a protocol without ports: of
   * connections that rules denied (`denied-flows.ts`).
   */
  | 'denied_flows'
  | 'denied_pairs'
  /** Limits of mitigations, by the mitigation and the address that is protected, or that and the source. */
  | 'mitigated_destination'
  | 'mitigated_source'
  /** Counters by server address, protocol, port and reason. */
  | 'filtered';

const PEER = ['ADDRESS', 'inet_service'];
const METER = { fields: ['ADDRESS', ...PEER], size: 65_536, seconds: 10 };
/** Its number, in halves: a constant of a key must have a type that nft can list. */
const MITIGATION = ['inet_service', 'inet_service'];
const TUPLE = [...PEER, ...PEER];
const DENIED_FLOW = [...TUPLE, 'inet_proto'];
const RESET = { fields: TUPLE, size: 65_536, seconds: 3600 };
const BUDGET = { fields: PEER, size: 65_536, seconds: 10 };

/**
 * Of each family; some 400 bytes each, allotted as they come. A flood of forged sources that the server answers makes
 * 30,000 for each port it is aimed at (budget times timeout).
 */
export const VALIDATED_SOURCES = 262_144;

interface StateSet {
  readonly fields: readonly string[];
  readonly size: number | 'validated sources';
  readonly seconds: number | null;
}

/** `seconds`: how long an element stays without traffic, at least as long as its limit needs to fill up again. */
const STATE: Readonly<Record<FilterState, StateSet>> = {
  validated: { fields: TUPLE, size: 'validated sources', seconds: 60 },
  validated_rate: METER,
  unvalidated_rate: METER,
  budget: BUDGET,
  budget_prefix: BUDGET,
  connection_rate: METER,
  // A counter of connections stays until its last one has gone: no timeout.
  connections: { fields: METER.fields, size: 65_536, seconds: null },
  reset_client: RESET,
  reset_server: RESET,
  denied_flows: { fields: DENIED_FLOW, size: 65_536, seconds: 600 },
  denied_pairs: { fields: ['ADDRESS', 'ADDRESS', 'inet_proto'], size: 65_536, seconds: 600 },
  mitigated_destination: { fields: ['ADDRESS', ...MITIGATION], size: 65_536, seconds: 10 },
  mitigated_source: { fields: ['ADDRESS', 'ADDRESS', ...MITIGATION], size: 131_072, seconds: 10 },
  filtered: {
    fields: ['ADDRESS', 'inet_proto', 'inet_service', 'inet_service'],
    size: 65_536,
    seconds: 3600,
  },
};

export function stateSet(state: FilterState, family: Family): string {
  return `${state}${family}`;
}

/** The type of its key; null: there is no such set. */
export function stateType(set: string): string | null {
  const family: Family = set.endsWith('4') ? 4 : 6;
  const state = STATE[set.slice(0, -1) as FilterState] as StateSet | undefined;
  return state === undefined ? null : typeOf(state, family);
}

function typeOf({ fields }: StateSet, family: Family): string {
  return fields.map((field) => (field === 'ADDRESS' ? ADDRESS_TYPE[family] : field)).join(' . ');
}

export function declareFilterState(family: Family, validatedSources: number): string[] {
  return (Object.keys(STATE) as FilterState[]).flatMap((state) => {
    const { seconds } = STATE[state];
    const size = STATE[state].size === 'validated sources' ? validatedSources : STATE[state].size;
    const flags =
      seconds === null ? 'flags dynamic;' : `flags dynamic,timeout; timeout ${seconds}s;`;
    return [
      `set ${stateSet(state, family)} {`,
      `\ttype ${typeOf(STATE[state], family)}; size ${size}; ${flags}`,
      '}',
      '',
    ];
  });
}

/** Where a packet goes that a filter does not pass. */
export function dropFor(reason: FilterReason): string {
  return `goto ${reasonChain(reason)}`;
}

/** A chain a reason: counted where there is room, dropped in any case. */
export function reasonChains(): RenderedChain[] {
  return (Object.keys(FILTER_REASONS) as FilterReason[]).toSorted().map((reason) => ({
    name: reasonChain(reason),
    statements: [
      ...([4, 6] as const).map((family) => count(FILTER_REASONS[reason], family)),
      'drop',
    ],
  }));
}

/** Counts a packet to a protected port; where there is no room, the rest of the rule does not happen. */
export function count(reason: number, family: Family): string {
  const key = `${IP[family]} daddr . meta l4proto . th dport . ${reason}`;
  return `update @${stateSet('filtered', family)} { ${key} counter }`;
}

function reasonChain(reason: FilterReason): string {
  return `filtered_${reason.replaceAll('-', '_')}`;
}

/**
 * Matches above the rate, so it does not match when there is no room to count: nobody is dropped for that.
 */
export function sourceRate(state: FilterState, pps: number, family: Family): string {
  const ip = IP[family];
  const above = `limit rate over ${pps}/second burst ${pps} packets`;
  return `update @${stateSet(state, family)} { ${ip} saddr . ${ip} daddr . th dport ${above} }`;
}
