import type { Policy, PolicyRule } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { DEVICE } from '../generator/traffic.ts';

/** Tables as people write them by hand, which tell nothing apart: what ours is measured beside. */
const HOOK = 'type filter hook prerouting priority -290; policy accept;';
const TYPE: Readonly<Record<Family, string>> = { 4: 'ipv4_addr', 6: 'ipv6_addr' };
const IP: Readonly<Record<Family, string>> = { 4: 'ip', 6: 'ip6' };
/** The mask of every network that these policies name. */
const MASK: Readonly<Record<Family, string>> = {
  4: '255.255.255.0',
  6: 'ffff:ffff:ffff:ffff::',
};

/** A chain an address, its rules one after the other. IPv4. */
export function linearTable(policies: readonly Policy[]): string {
  const chains = policies.map(
    ({ rules }, index) => ` chain c${index} {\n${rules.map(linearRule).join('\n')}\n }\n`,
  );
  const entries = policies.map(({ target }, index) => `${target} : goto c${index}`);
  return `table inet linear {
 map addresses { type ipv4_addr : verdict; elements = { ${entries.join(', ')} }; }
${chains.join('')} chain prerouting {
  ${HOOK}
  iifname "${DEVICE}" ip daddr vmap @addresses
 }
}
`;
}

function linearRule({ action, protocol, port, source }: PolicyRule): string {
  const matches = [
    ...(source === null ? [] : [`ip saddr ${source}`]),
    ...(protocol === 'any' ? [] : [`meta l4proto ${protocol}`]),
    ...(port === null ? [] : [`th dport ${port}`]),
  ];
  return [...matches, action === 'allow' ? 'accept' : 'drop'].join(' ');
}

/**
 * A look-up for each form of rule, for addresses that end in deny: their other denies change no verdict and are left
 * out. `sources`: without them it lets in nobody by where he comes from, and takes the two look-ups that are the least.
 * `counts`: each packet, in the element of its address or its port.
 */
export function lookupTable(
  policies: readonly Policy[],
  family: Family,
  { sources, counts = false }: { readonly sources: boolean; readonly counts?: boolean },
): string {
  const maps = elementsOf(policies);
  const [ip, type, mask] = [IP[family], TYPE[family], MASK[family]];
  const port = `${ip} daddr . meta l4proto . th dport`;
  const found = sources ? 'goto by_source' : 'drop';
  const map = (name: string, fields: readonly string[], elements: readonly string[]): string =>
    ` map ${name} { type ${fields.join(' . ')} : verdict; size 262144; ${counts && COUNTED.includes(name) ? 'counter; ' : ''}elements = { ${elements.join(', ')} }; }`;
  const rules = (name: string, statements: readonly string[]): string =>
    ` chain ${name} {\n${statements.join('\n')}\n }`;
  // What no policy names is not looked up either.
  const ask = (name: MapName, key: string): string[] =>
    maps[name].size === 0 ? [] : [`${key} vmap @${name}`];
  const fields: Readonly<Record<MapName, readonly string[]>> = {
    ports: [type, 'inet_proto', 'inet_service'],
    port_sources: [type, 'inet_proto', 'inet_service', type],
    hosts: [type, type],
    networks: [type, type],
  };
  return [
    'table inet lookups {',
    ...MAPS.flatMap((name) => {
      const elements = [...maps[name]].map(([key, verdict]) => `${key} : ${verdict}`);
      return elements.length === 0 ? [] : [map(name, fields[name], elements)];
    }),
    map(
      'addresses',
      [type],
      policies.map(({ target }) => `${target} : ${found}`),
    ),
    rules('by_source', [
      'meta l4proto { icmp, icmpv6 } accept',
      ...ask('hosts', `${ip} daddr . ${ip} saddr`),
      ...ask('networks', `${ip} daddr . ${ip} saddr & ${mask}`),
      'drop',
    ]),
    rules('port_source', [
      ...ask('port_sources', `${port} . ${ip} saddr`),
      ...ask('port_sources', `${port} . ${ip} saddr & ${mask}`),
      'goto by_source',
    ]),
    rules('prerouting', [HOOK, ...ask('ports', port), `${ip} daddr vmap @addresses`]),
    '}',
    '',
  ].join('\n');
}

/** One of both has every packet. */
const COUNTED: readonly string[] = ['ports', 'addresses'];
const MAPS = ['ports', 'port_sources', 'hosts', 'networks'] as const;
type MapName = (typeof MAPS)[number];
type Elements = Readonly<Record<MapName, Map<string, string>>>;

function elementsOf(policies: readonly Policy[]): Elements {
  const maps: Elements = {
    ports: new Map(),
    port_sources: new Map(),
    hosts: new Map(),
    networks: new Map(),
  };
  for (const { target, rules } of policies)
    for (const rule of rules) if (rule.action === 'allow') addAllow(maps, target, rule);
  return maps;
}

function addAllow(maps: Elements, target: string, { protocol, port, source }: PolicyRule): void {
  const [address = '', length] = source?.split('/') ?? [];
  if (port === null) {
    const map = length === undefined ? maps.hosts : maps.networks;
    // By protocol alone a packet is distinguished without a look-up.
    if (source !== null) map.set(`${target} . ${address}`, 'accept');
    return;
  }
  const key = `${target} . ${protocol} . ${port}`;
  if (source === null) {
    maps.ports.set(key, 'accept');
    return;
  }
  // Open to everybody stays so.
  if (!maps.ports.has(key)) maps.ports.set(key, 'goto port_source');
  maps.port_sources.set(`${key} . ${address}`, 'accept');
}
