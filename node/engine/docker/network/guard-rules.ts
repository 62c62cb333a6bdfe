import { isIPv4, isIPv6 } from 'node:net';
import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import type { PublishedPort } from '../../engine.ts';
import { BRIDGE_PREFIX } from '../labels.ts';

/** What stands around the bridges of one agent. */
export interface GuardPlan {
  readonly table: string;
  /** Interfaces, one an organisation. Empty: the table goes. */
  readonly bridges: readonly string[];
  /** Of running servers: containers may reach them at this host's addresses, as everybody may. */
  readonly published: readonly PublishedPort[];
  /** That this host asks for names: servers may too, wherever they are, and nothing else of them. */
  readonly resolvers: readonly string[];
  /** Networks that no server may speak to, such as that of the control plane. */
  readonly closed: readonly string[];
}

/** Where clouds give out their machines' credentials. */
export const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'] as const;

/**
 * What Docker leaves open between its bridges and the host, closed, in a table of our own that Docker does not know
 * and that no restart of it touches. A drop in any table is final; where this table says accept, Docker's own rules
 * still judge.
 *
 * - Servers of one organisation reach one another; nobody else's bridge, also not that of another agent.
 * - From outside, only what is published comes to a server: also by IPv6, which Docker 20 does not filter, and from
 *   hosts that route to the bridge's addresses by themselves.
 * - This host's own addresses answer servers on published ports only: nothing else that listens here, be it the
 *   control plane, its metrics or an engine on TCP.
 */
export function renderGuard(plan: GuardPlan): string {
  const empty = `table inet ${plan.table}\ndelete table inet ${plan.table}\n`;
  if (plan.bridges.length === 0) return empty;
  const { bridges, published, resolvers, closed } = plan;
  const ports = (is: (ip: string) => boolean): string[] =>
    published
      .filter(({ ip }) => is(ip))
      .map(({ ip, port, protocol }) => `${ip} . ${protocol} . ${port}`);
  const anywhere = published
    .filter(({ ip }) => ip === '0.0.0.0' || ip === '::')
    .map(({ port, protocol }) => `${protocol} . ${port}`);
  return `${empty}table inet ${plan.table} {
${renderSet('own', 'ifname', bridges.map(quoted))}
${renderSet(
  'same',
  'ifname . ifname',
  bridges.map((one) => `${quoted(one)} . ${quoted(one)}`),
)}
${renderSet('published4', 'ipv4_addr . inet_proto . inet_service', ports(isIPv4))}
${renderSet('published6', 'ipv6_addr . inet_proto . inet_service', ports(isIPv6))}
${renderSet('published', 'inet_proto . inet_service', anywhere)}
${renderSet('resolvers4', 'ipv4_addr', resolvers.filter(isIPv4))}
${renderSet('resolvers6', 'ipv6_addr', resolvers.filter(isIPv6))}
${renderSet('closed4', 'ipv4_addr', networks(closed, isIPv4), 'flags interval; auto-merge;')}
${renderSet('closed6', 'ipv6_addr', networks(closed, isIPv6), 'flags interval; auto-merge;')}
${CHAINS}
}
`;
}

/** The addresses of a resolv.conf, in one spelling each. One with a zone is of one link of the host's, and no server's. */
export function parseResolvers(text: string): string[] {
  return [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)].flatMap(([, named = '']) => {
    const address = parseAddress(named);
    return address.ok ? [formatAddress(address.value)] : [];
  });
}

const CHAINS = `  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname . oifname @same accept
    iifname @own jump from_server
    oifname @own jump to_server
  }
  chain from_server {
    oifname "${BRIDGE_PREFIX}*" drop
    ip daddr @resolvers4 meta l4proto { tcp, udp } th dport 53 accept
    ip6 daddr @resolvers6 meta l4proto { tcp, udp } th dport 53 accept
    ip daddr @closed4 drop
    ip6 daddr @closed6 drop
  }
  chain to_server {
    ct state established,related accept
    ct status dnat accept
    drop
  }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname @own jump to_host
  }
  chain to_host {
    ct state established,related accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept
    ip daddr . meta l4proto . th dport @published4 accept
    ip6 daddr . meta l4proto . th dport @published6 accept
    meta l4proto . th dport @published accept
    ip daddr @resolvers4 meta l4proto { tcp, udp } th dport 53 accept
    ip6 daddr @resolvers6 meta l4proto { tcp, udp } th dport 53 accept
    drop
  }`;

function renderSet(name: string, type: string, elements: readonly string[], flags = ''): string {
  const unique = [...new Set(elements)].toSorted();
  const filled = unique.length === 0 ? '' : ` elements = { ${unique.join(', ')} };`;
  return `  set ${name} { type ${type}; ${flags}${filled} }`;
}

function networks(all: readonly string[], is: (ip: string) => boolean): string[] {
  return all.filter((network) => is(network.split('/')[0] ?? ''));
}

function quoted(name: string): string {
  return `"${name}"`;
}
