import { DATA_BYTES, REFLECTORS, VECTORS } from '@portcullis/core/attacks/vectors.ts';
import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { deviceMatch } from '../../nftables/table/base-chain.ts';
import { ADDRESS_TYPE, COUNTER_TABLE as TABLE, IP } from '../../nftables/names.ts';
import type { Piece } from './pieces.ts';

/** A counter that is there as long as the table is. */
export const SENTINEL = 'alive';
/** Before everything that drops or puts together (fragments are limited at -450), and what leaves. */
const FIRST_PRIORITY = -500;
/** Addresses that nobody follows and that got something lately; of more, those that come when others are forgotten. */
const MOST_SEEN = 1024;
const SEEN_SECONDS = 2;

export const REMOVE_COUNTERS = `add table ${TABLE}\ndelete table ${TABLE}\n`;

/** What the table holds at its beginning. */
export interface CounterLayout {
  readonly devices: readonly string[];
  readonly pieces: readonly Piece[];
  readonly followed: readonly string[];
  /** Addresses and pieces of networks that are told apart, by place. */
  readonly vectorSlots: readonly (readonly [place: number, keys: readonly string[]])[];
}

/** The whole table, in place of what was there. Null: no device, so nothing is counted. Throws `PolicyError`. */
export function renderCounters(layout: CounterLayout): string | null {
  const entering = deviceMatch(layout.devices);
  if (entering === null) return null;
  const lines = [
    REMOVE_COUNTERS.trimEnd(),
    `add table ${TABLE}`,
    `add counter ${TABLE} ${SENTINEL}`,
  ];
  for (const family of [4, 6] as const) lines.push(...declareFamily(family));
  lines.push(
    `add chain ${TABLE} enter { type filter hook prerouting priority ${FIRST_PRIORITY}; }`,
    `add chain ${TABLE} leave { type filter hook postrouting priority ${FIRST_PRIORITY}; }`,
  );
  for (const family of [4, 6] as const) {
    const { daddr, saddr } = fields(family);
    lines.push(
      `add rule ${TABLE} enter ${entering} ${daddr} @networks${family} jump watched${family}`,
      `add rule ${TABLE} enter ${entering} ${daddr} @alone${family} jump watched${family}`,
      `add rule ${TABLE} leave meta l4proto tcp meta length > ${DATA_BYTES} ${saddr} @sent${family}`,
    );
  }
  const sets = Map.groupBy(layout.pieces, ({ family, network }) =>
    network === null ? `alone${family}` : `networks${family}`,
  );
  for (const [set, pieces] of sets) lines.push(addElements(set, pieces.map(rangeOf)));
  lines.push(renderFollow(layout.followed));
  for (const [slot, keys] of layout.vectorSlots)
    lines.push(renderVectorChain(slot), renderStartVectors(slot, keys));
  return `${lines.filter((line) => line !== '').join('\n')}\n`;
}

export function rangeOf({ family, first, last }: Piece): string {
  const [from, to] = [first, last].map((value) => formatAddress({ family, value }));
  return from === to ? `${from}` : `${from}-${to}`;
}

export function renderFollow(addresses: readonly string[]): string {
  return byFamily(addresses, (family, own) => [
    addElements(`addresses${family}`, own),
    addElements(`sent${family}`, own),
  ]);
}

export function renderUnfollow(addresses: readonly string[]): string {
  return byFamily(addresses, (family, own) => [
    removeElements(`addresses${family}`, own),
    removeElements(`sent${family}`, own),
  ]);
}

/** The counters of a place, and the rules that lead to them: once for good. */
export function renderVectorChain(slot: number): string {
  const chain = `told${slot}`;
  const counters = VECTORS.map((vector) => `add counter ${TABLE} ${counterName(slot, vector)}`);
  const rules = vectorRules().map(
    ([match, vector]) =>
      `add rule ${TABLE} ${chain} ${match} counter name ${counterName(slot, vector)} return`,
  );
  return [...counters, `add chain ${TABLE} ${chain}`, ...rules].join('\n');
}

/** `keys`: an address, or the ranges of a network. */
export function renderStartVectors(slot: number, keys: readonly string[]): string {
  return keys
    .map((key) => `add element ${TABLE} ${mapOf(key)} { ${key} : jump told${slot} }`)
    .join('\n');
}

export function renderStopVectors(keys: readonly string[]): string {
  return keys.map((key) => `delete element ${TABLE} ${mapOf(key)} { ${key} }`).join('\n');
}

export function counterName(slot: number, vector: string): string {
  return `told${slot}_${vector}`;
}

/** A range is of a network. */
function mapOf(key: string): string {
  const family = key.includes(':') ? 6 : 4;
  return key.includes('-') ? `told_networks${family}` : `told_addresses${family}`;
}

function declareFamily(family: Family): string[] {
  const type = ADDRESS_TYPE[family];
  const { daddr } = fields(family);
  const chain = `add rule ${TABLE} watched${family}`;
  return [
    `add set ${TABLE} networks${family} { type ${type}; flags interval; counter; }`,
    // Looked at several times a second are only sets that stay small.
    `add set ${TABLE} alone${family} { type ${type}; }`,
    `add set ${TABLE} addresses${family} { type ${type}; counter; }`,
    `add set ${TABLE} sent${family} { type ${type}; counter; }`,
    `add set ${TABLE} seen${family} { type ${type}; size ${MOST_SEEN}; flags dynamic,timeout; timeout ${SEEN_SECONDS}s; gc-interval 1s; counter; }`,
    `add map ${TABLE} told_addresses${family} { type ${type} : verdict; }`,
    `add map ${TABLE} told_networks${family} { type ${type} : verdict; flags interval; }`,
    `add chain ${TABLE} watched${family}`,
    `${chain} ${daddr} vmap @told_networks${family}`,
    `${chain} ${daddr} vmap @told_addresses${family}`,
    `${chain} ${daddr} @addresses${family} return`,
    `${chain} update @seen${family} { ${daddr} }`,
  ];
}

function fields(family: Family): { readonly daddr: string; readonly saddr: string } {
  return { daddr: `${IP[family]} daddr`, saddr: `${IP[family]} saddr` };
}

/** The order of `vectorOf` in core/attacks/vectors.ts: the first that matches. */
function vectorRules(): (readonly [match: string, vector: string])[] {
  const known = 'fin|syn|rst|psh|ack';
  return [
    ['ip frag-off & 0x1fff != 0', 'fragment'],
    ['frag frag-off != 0', 'fragment'],
    ...Object.entries(REFLECTORS).map(
      ([name, port]) => [`udp sport ${port}`, `udp_${name}`] as const,
    ),
    ['ip frag-off & 0x2000 != 0', 'fragment_first'],
    ['frag more-fragments 1', 'fragment_first'],
    ['meta l4proto udp', 'udp'],
    [`tcp flags & (${known}) == syn`, 'tcp_syn'],
    [`tcp flags & (${known}) == (syn|ack)`, 'tcp_syn_ack'],
    ['tcp flags & (syn|rst|psh) == rst', 'tcp_rst'],
    ['tcp flags & ack == 0', 'tcp_other'],
    [`meta l4proto tcp meta length > ${DATA_BYTES}`, 'tcp_data'],
    ['meta l4proto tcp', 'tcp_ack'],
    ['meta l4proto { icmp, ipv6-icmp }', 'icmp'],
    ['meta l4proto gre', 'gre'],
    ['meta length > 0', 'other'],
  ];
}

function byFamily(
  addresses: readonly string[],
  render: (family: Family, own: readonly string[]) => string[],
): string {
  const families = Map.groupBy(addresses, (one): Family => (one.includes(':') ? 6 : 4));
  return [...families].flatMap(([family, own]) => render(family, own)).join('\n');
}

function addElements(set: string, elements: readonly string[]): string {
  return elements.length === 0 ? '' : `add element ${TABLE} ${set} { ${elements.join(', ')} }`;
}

function removeElements(set: string, elements: readonly string[]): string {
  return elements.length === 0 ? '' : `delete element ${TABLE} ${set} { ${elements.join(', ')} }`;
}
