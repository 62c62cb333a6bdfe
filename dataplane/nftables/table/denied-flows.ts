import type { Family } from '@portcullis/core/net/address.ts';
import type { RenderedChain } from '../chain.ts';
import { stateSet } from '../filters/state.ts';
import { IP, protocolName } from '../names.ts';

/**
 * Keeps connections that rules denied, so that their packets do not pass as replies. The agent deletes the conntrack
 * entries of denied connections (`dataplane/connections/denied-flows.ts`). If the protected host sends another packet,
 * conntrack creates an entry as if the host had opened the connection. The rules then apply to replies of such flows as
 * to other packets. An element expires when its conntrack entry would have, after the last packet in either direction.
 */
const FAMILIES: readonly Family[] = [4, 6];
const PORTED = ['tcp', 'udp', '33', '132', '136'] as const;
const PORTED_NUMBERS = new Set([6, 17, 33, 132, 136]);
/** The default of nf_conntrack_tcp_timeout_established. */
const TCP_SECONDS = 5 * 24 * 3600;
/** The default of nf_conntrack_generic_timeout; that of UDP is shorter. */
const OTHER_SECONDS = 600;

/** A denied connection, with addresses and ports before DNAT. */
export interface DeniedFlow {
  readonly family: Family;
  readonly client: string;
  readonly server: string;
  /** The protocol number; the ports are null if it has none. */
  readonly protocol: number;
  readonly clientPort: number | null;
  readonly serverPort: number | null;
}

/** The set, key and least timeout of a flow. Returns null for protocols whose replies open no connection. */
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

/** The longest timeout of an element without packets. */
export const LONGEST_SECONDS = TCP_SECONDS;

type Way = 'in' | 'out';

/** The chain of incoming replies: accepts them, except those of denied connections. */
export const REPLIES = 'replies';

/** After source NAT (100), where the server's address is the one that clients use. */
const AFTER_SOURCE_NAT = 110;

/** `skip`: statements that accept packets which no protected host sends. */
export function deniedFlowChains(skip: readonly string[]): RenderedChain[] {
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
        ...skip,
        // A reply to a connection that the client opened.
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

/** Renews the timeout of a present element. */
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
