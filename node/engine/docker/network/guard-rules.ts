import { isIPv4, isIPv6 } from 'node:net';
import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NOT_PUBLIC, translationsOf } from '@portcullis/core/net/public-address.ts';
import type { PublishedPort } from '../../engine.ts';
import { BRIDGE_PREFIX } from '../labels.ts';

/** The input of the nftables table that guards the bridges of one agent. */
export interface GuardPlan {
  readonly table: string;
  /** One interface for each organisation. If empty, the table is deleted. */
  readonly bridges: readonly string[];
  /** The ports of running servers, which containers may reach at this host's addresses. */
  readonly published: readonly PublishedPort[];
  /** The DNS resolvers of this host; servers may reach their port 53 only. */
  readonly resolvers: readonly string[];
  /** Networks that servers must not reach, in addition to what is not public, such as that of the control plane. */
  readonly closed: readonly string[];
  /** Networks that they may reach although they are inside a closed one. */
  readonly opened: readonly string[];
}

/**
 * Renders the table that closes what Docker leaves open between its bridges and the host. Docker does not touch it, also
 * not on a restart. A drop in any table is final; packets that this table accepts are still evaluated by Docker's rules.
 *
 * - Servers of one organisation reach each other, and no other bridge, also not one of another agent.
 * - From outside, only published ports are reachable: also by IPv6, which Docker 20 does not filter, and from hosts with
 *   a route to the bridge's addresses.
 * - Servers answer players of any network, and begin connections to the public internet and to opened networks only.
 *   What is not public, such as databases and management interfaces of the operator and credentials of clouds, trusts
 *   its neighbours. An opened network of IPv6 that carries IPv4 does not lead to closed IPv4 addresses.
 * - Servers reach this host's addresses on published ports only, not the control plane, its metrics or an engine on TCP.
 */
export function renderGuard(plan: GuardPlan): string {
  const deletion = `table inet ${plan.table}\ndelete table inet ${plan.table}\n`;
  if (plan.bridges.length === 0) return deletion;
  const { bridges, published, resolvers, opened } = plan;
  const closed = [...NOT_PUBLIC, ...plan.closed];
  const ports = (is: (ip: string) => boolean): string[] =>
    published
      .filter(({ ip }) => is(ip))
      .map(({ ip, port, protocol }) => `${ip} . ${protocol} . ${port}`);
  const onAnyAddress = published
    .filter(({ ip }) => ip === '0.0.0.0' || ip === '::')
    .map(({ port, protocol }) => `${protocol} . ${port}`);
  return `${deletion}table inet ${plan.table} {
${renderSet('own', 'ifname', bridges.map(quoted))}
${renderSet(
  'same',
  'ifname . ifname',
  bridges.map((one) => `${quoted(one)} . ${quoted(one)}`),
)}
${renderSet('published4', 'ipv4_addr . inet_proto . inet_service', ports(isIPv4))}
${renderSet('published6', 'ipv6_addr . inet_proto . inet_service', ports(isIPv6))}
${renderSet('published', 'inet_proto . inet_service', onAnyAddress)}
${renderSet('resolvers4', 'ipv4_addr', resolvers.filter(isIPv4))}
${renderSet('resolvers6', 'ipv6_addr', resolvers.filter(isIPv6))}
${renderSet('translated6', 'ipv6_addr', closed.flatMap(translated), INTERVALS)}
${renderSet('opened4', 'ipv4_addr', networks(opened, isIPv4), INTERVALS)}
${renderSet('opened6', 'ipv6_addr', networks(opened, isIPv6), INTERVALS)}
${renderSet('closed4', 'ipv4_addr', networks(closed, isIPv4), INTERVALS)}
${renderSet('closed6', 'ipv6_addr', networks(closed, isIPv6), INTERVALS)}
${CHAINS}
}
`;
}

/** The canonical addresses of a resolv.conf, without those with a zone: servers have no such link. */
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
    ct state established,related ct direction reply accept
    ip daddr @resolvers4 meta l4proto { tcp, udp } th dport 53 accept
    ip6 daddr @resolvers6 meta l4proto { tcp, udp } th dport 53 accept
    ip6 daddr @translated6 drop
    ip daddr @opened4 accept
    ip6 daddr @opened6 accept
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

const INTERVALS = 'flags interval; auto-merge;';

function renderSet(name: string, type: string, elements: readonly string[], flags = ''): string {
  const unique = [...new Set(elements)].toSorted();
  const filled = unique.length === 0 ? '' : ` elements = { ${unique.join(', ')} };`;
  return `  set ${name} { type ${type}; ${flags}${filled} }`;
}

function networks(all: readonly string[], is: (ip: string) => boolean): string[] {
  return all.filter((network) => is(network.split('/')[0] ?? ''));
}

function translated(network: string): string[] {
  const cidr = parseCidr(network);
  return cidr.ok ? translationsOf(cidr.value).map(formatCidr) : [];
}

function quoted(name: string): string {
  return `"${name}"`;
}
