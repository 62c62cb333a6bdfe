import type { Family } from '@portcullis/core/net/address.ts';
import type { RenderedChain } from '../chain.ts';
import { stateSet } from '../filters/state.ts';
import { IP, protocolName } from '../names.ts';

/**
 * Connections that rules deny are forgotten by connection tracking (`dataplane/connections/denied-flows.ts`). The next packet
 * that the protected host sends all the same makes the kernel believe that the protected host began, and what the denied
 * side sends would be return traffic. Here it is remembered who is meant: to them replies are judged like everything else.
 * An element stays as long as connection tracking would have remembered, from the last packet of either side on.
 */
const FAMILIES: readonly Family[] = [4, 6];
const PORTED = ['tcp', 'udp', '33', '132', '136'] as const;
const PORTED_NUMBERS = new Set([6, 17, 33, 132, 136]);
/** As nf_conntrack_tcp_timeout_established has it. */
const TCP_SECONDS = 5 * 24 * 3600;
/** As nf_conntrack_generic_timeout; what the kernel gives UDP is less. */
const OTHER_SECONDS = 600;

/** A connection that was denied, addresses and ports as they are before DNAT. */
export interface DeniedFlow {
  readonly family: Family;
  readonly client: string;
  readonly server: string;
  /** Number of the protocol, and its ports where it has some. */
  readonly protocol: number;
  readonly clientPort: number | null;
  readonly serverPort: number | null;
}

/** Where it is remembered, and for how long at least; null: what answers it begins no connection, so nowhere. */
export function deniedElement(
  flow: DeniedFlow,
): { readonly set: string; readonly fields: readonly string[]; readonly seconds: number } | null {
  const { family, client, server, protocol, clientPort, serverPort } = flow;
  const seconds = OTHER_SECONDS;
  if (protocol === 1 || protocol === 58) return null;
  if (!PORTED_NUMBERS.has(protocol)) {
    const fields = [client, server, protocolName(protocol)];
    return { set: stateSet('denied_pairs', family), fields, seconds };
  }
  if (clientPort === null || serverPort === null) return null;
  const fields = [client, `${clientPort}`, server, `${serverPort}`, protocolName(protocol)];
  return { set: stateSet('denied_flows', family), fields, seconds };
}

/** The longest that anything is remembered without a packet. */
export const LONGEST_SECONDS = TCP_SECONDS;

type Way = 'in' | 'out';

/** Of what comes in as a reply: it is accepted, unless it is of a connection that was denied. */
export const REPLIES = 'replies';

/** After source NAT (100), so that the server's address is the one that clients send to. */
const AFTER_SOURCE_NAT = 110;

export function deniedFlowChains(): RenderedChain[] {
  return [
    ...FAMILIES.flatMap((family) =>
      (['in', 'out'] as const).flatMap((way) => [
        { name: `denied_flow_${way}${family}`, statements: renewFlow(family, way) },
        { name: `denied_pair_${way}${family}`, statements: [renewPair(family, way)] },
      ]),
    ),
    { name: REPLIES, statements: [...lookups('in'), 'accept'] },
    {
      name: 'denied_flows_out',
      statements: [
        `type filter hook postrouting priority ${AFTER_SOURCE_NAT}; policy accept;`,
        // What answers a connection of the other side belongs to one that is tracked as it began.
        'ct direction reply accept',
        ...lookups('out'),
      ],
    },
  ];
}

function lookups(way: Way): string[] {
  return [
    ...FAMILIES.map(
      (family) =>
        `${flowKey(family, way)} @${stateSet('denied_flows', family)} goto denied_flow_${way}${family}`,
    ),
    `meta l4proto { ${PORTED.join(', ')} } accept`,
    ...FAMILIES.map(
      (family) =>
        `${pairKey(family, way)} @${stateSet('denied_pairs', family)} goto denied_pair_${way}${family}`,
    ),
  ];
}

/** It is known to be there: `update` adds nothing. */
function renewFlow(family: Family, way: Way): string[] {
  const renew = (seconds: number): string =>
    `update @${stateSet('denied_flows', family)} { ${flowKey(family, way)} timeout ${seconds}s }`;
  return [`meta l4proto tcp ${renew(TCP_SECONDS)} return`, renew(OTHER_SECONDS)];
}

function renewPair(family: Family, way: Way): string {
  const key = pairKey(family, way);
  return `update @${stateSet('denied_pairs', family)} { ${key} timeout ${OTHER_SECONDS}s }`;
}

function flowKey(family: Family, way: Way): string {
  const ip = IP[family];
  return way === 'in'
    ? `${ip} saddr . th sport . ${ip} daddr . th dport . meta l4proto`
    : `${ip} daddr . th dport . ${ip} saddr . th sport . meta l4proto`;
}

function pairKey(family: Family, way: Way): string {
  const ip = IP[family];
  return way === 'in'
    ? `${ip} saddr . ${ip} daddr . meta l4proto`
    : `${ip} daddr . ${ip} saddr . meta l4proto`;
}
