import {
  FILTER_PASSES,
  FILTER_REASONS,
  type FilterReason,
} from '@portcullis/core/filters/reasons.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { RenderedChain } from '../chain.ts';
import { ADDRESS_TYPE, IP, TABLE } from '../names.ts';

/**
 * The sets that keep the state of filters. The kernel fills them. All have a fixed size and typed keys, because nft
 * 1.0.6 aborts when it lists raw keys.
 */
export type FilterState =
  /** Flows by client address and port, server address and port: the server has answered. */
  | 'validated'
  /** Rates by client address, server address and port. */
  | 'validated_rate'
  | 'unvalidated_rate'
  | 'roaming_rate'
  /** Rates by server address and port. The addresses of prefixes have their own set, because they may fill it. */
  | 'budget'
  | 'budget_prefix'
  | 'roaming_budget'
  | 'roaming_budget_prefix'
  /** The rate of new connections by server address and port. */
  | 'new_connections'
  /** The rate of new connections and the number of connections, by client address, server address and port. */
  | 'connection_rate'
  | 'connections'
  /**
   * Flows by client address and port, server address and port: a connection opened before the SYN proxy, of which the
   * client or the server still has to receive a reset.
   */
  | 'reset_client'
  | 'reset_server'
  /**
   * Connections that rules denied, by client address and port, server address and port and protocol, or by addresses
   * and protocol if it has no ports (`denied-flows.ts`).
   */
  | 'denied_flows'
  | 'denied_pairs'
  /**
   * Rates of mitigations, by mitigation and protected address; the second also by source address, the third by client
   * address and port and server port.
   */
  | 'mitigated_destination'
  | 'mitigated_source'
  | 'mitigated_flow'
  /**
   * Flows that were answered too late to be exempt from a mitigation, by client address and port, server address and
   * port.
   */
  | 'answered_late'
  /** Counters by server address, protocol, port and reason. */
  | 'filtered';

const PEER = ['ADDRESS', 'inet_service'];
const METER = { fields: ['ADDRESS', ...PEER], size: 65_536, seconds: 10 };
/**
 * The number of a mitigation. A constant in a key must have a type that nft can list, and nft 1.0.6 knows keys of five
 * fields at most.
 */
const MITIGATION = 'mark';
const TUPLE = [...PEER, ...PEER];
const DENIED_FLOW = [...TUPLE, 'inet_proto'];
const RESET = { fields: TUPLE, size: 65_536, seconds: 3600 };
const BUDGET = { fields: PEER, size: 65_536, seconds: 10 };

/**
 * The size for each family. An element takes about 400 bytes, allocated when it is added. A forged flood that the
 * server answers adds up to 30,000 for each port (budget times timeout).
 */
export const VALIDATED_SOURCES = 262_144;

interface StateSet {
  readonly fields: readonly string[];
  readonly size: number | 'validated sources';
  readonly seconds: number | null;
}

/** `seconds`: the timeout of an element without traffic. It must be long enough for the limit to refill. */
const STATE: Readonly<Record<FilterState, StateSet>> = {
  validated: { fields: TUPLE, size: 'validated sources', seconds: 60 },
  validated_rate: METER,
  unvalidated_rate: METER,
  roaming_rate: METER,
  budget: BUDGET,
  budget_prefix: BUDGET,
  roaming_budget: BUDGET,
  roaming_budget_prefix: BUDGET,
  new_connections: BUDGET,
  connection_rate: METER,
  // The kernel deletes a connection counter after its last connection, so it has no timeout.
  connections: { fields: METER.fields, size: 65_536, seconds: null },
  reset_client: RESET,
  reset_server: RESET,
  denied_flows: { fields: DENIED_FLOW, size: 65_536, seconds: 600 },
  denied_pairs: { fields: ['ADDRESS', 'ADDRESS', 'inet_proto'], size: 65_536, seconds: 600 },
  mitigated_destination: { fields: ['ADDRESS', MITIGATION], size: 65_536, seconds: 10 },
  mitigated_source: { fields: ['ADDRESS', 'ADDRESS', MITIGATION], size: 131_072, seconds: 10 },
  // As long as conntrack keeps such a flow.
  answered_late: { fields: TUPLE, size: 131_072, seconds: 180 },
  mitigated_flow: { fields: [...TUPLE, MITIGATION], size: 131_072, seconds: 10 },
  filtered: {
    fields: ['ADDRESS', 'inet_proto', 'inet_service', 'inet_service'],
    size: 65_536,
    seconds: 3600,
  },
};

export function stateSet(state: FilterState, family: Family): string {
  return `${state}${family}`;
}

/** The key type of a set; null if there is no such set. */
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

/** The verdict for packets that a filter drops. */
export function dropFor(reason: FilterReason): string {
  return `goto ${reasonChain(reason)}`;
}

/** The verdict for packets of new sources that pass. */
export const ACCEPT_GREETED = 'goto filter_greeted';

/**
 * Chains that count a packet if the set has capacity, because a full set ends a rule before its verdict: one for each
 * reason of a drop, and one for packets of new sources that pass.
 */
export function countingChains(): RenderedChain[] {
  const counted = (name: string, reason: number, verdict: string): RenderedChain => ({
    name,
    statements: [...([4, 6] as const).map((family) => count(reason, family)), verdict],
  });
  const reasons = (Object.keys(FILTER_REASONS) as FilterReason[]).toSorted();
  return [
    ...reasons.map((reason) => counted(reasonChain(reason), FILTER_REASONS[reason], 'drop')),
    counted('filter_greeted', FILTER_PASSES.greeted, 'accept'),
  ];
}

/** Counts a packet to a protected port, or a reply of it. At capacity the rest of the rule is not evaluated. */
export function count(
  reason: number,
  family: Family,
  [address, port]: readonly [string, string] = ['daddr', 'dport'],
): string {
  const key = `${IP[family]} ${address} . meta l4proto . th ${port} . ${reason}`;
  return `update @${stateSet('filtered', family)} { ${key} counter }`;
}

function reasonChain(reason: FilterReason): string {
  return `filtered_${reason.replaceAll('-', '_')}`;
}

/** Matches above the rate. Does not match when the set is full, so a full set drops no packets. */
export function sourceRate(state: FilterState, pps: number, family: Family): string {
  const ip = IP[family];
  const above = `limit rate over ${pps}/second burst ${pps} packets`;
  return `update @${stateSet(state, family)} { ${ip} saddr . ${ip} daddr . th dport ${above} }`;
}

/**
 * Forgets what was counted towards limits, of every port: an element keeps the limit that it was made with as long as
 * packets come. Each source can then send one burst more.
 */
export const FORGET_LIMITS = ([4, 6] as const)
  .flatMap((family) =>
    (['validated_rate', 'budget', 'budget_prefix', 'new_connections'] as const).map(
      (state) => `flush set ${TABLE} ${stateSet(state, family)}\n`,
    ),
  )
  .join('');
