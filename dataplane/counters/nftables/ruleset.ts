import { DATA_BYTES, REFLECTORS, VECTORS } from '@portcullis/core/attacks/vectors.ts';
import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { deviceMatch } from '../../nftables/table/base-chain.ts';
import { ADDRESS_TYPE, COUNTER_TABLE as TABLE, IP } from '../../nftables/names.ts';
import type { Piece } from './pieces.ts';

/** A counter that exists as long as the table does. */
export const SENTINEL = 'alive';
/** Before all drops, before reassembly (fragments are limited at -450), and before packets leave. */
const FIRST_PRIORITY = -500;
/** The most recent addresses that are not followed. When the set is full, new ones wait until others expire. */
const MAX_SEEN = 1024;
const SEEN_SECONDS = 2;

export const REMOVE_COUNTERS = `add table ${TABLE}\ndelete table ${TABLE}\n`;

/** The initial contents of the table. */
export interface CounterLayout {
  readonly devices: readonly string[];
  readonly pieces: readonly Piece[];
  readonly followed: readonly string[];
  /** Keys of the subjects with counted vectors, by slot. */
  readonly vectorSlots: readonly (readonly [place: number, keys: readonly string[]])[];
}

/** Renders the whole table, replacing an existing one. Returns null without a device. Throws `PolicyError`. */
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

/** Renders the counters and rules of a slot. They are never removed. */
export function renderVectorChain(slot: number): string {
  const chain = `vectors${slot}`;
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
    .map((key) => `add element ${TABLE} ${mapOf(key)} { ${key} : jump vectors${slot} }`)
    .join('\n');
}

export function renderStopVectors(keys: readonly string[]): string {
  return keys.map((key) => `delete element ${TABLE} ${mapOf(key)} { ${key} }`).join('\n');
}

export function counterName(slot: number, vector: string): string {
  return `vectors${slot}_${vector}`;
}

/** A key with a range belongs to a network. */
function mapOf(key: string): string {
  const family = key.includes(':') ? 6 : 4;
  return key.includes('-') ? `vector_networks${family}` : `vector_addresses${family}`;
}

function declareFamily(family: Family): string[] {
  const type = ADDRESS_TYPE[family];
  const { daddr } = fields(family);
  const chain = `add rule ${TABLE} watched${family}`;
  return [
    `add set ${TABLE} networks${family} { type ${type}; flags interval; counter; }`,
    // Sets that are read several times a second must stay small.
    `add set ${TABLE} alone${family} { type ${type}; }`,
    `add set ${TABLE} addresses${family} { type ${type}; counter; }`,
    `add set ${TABLE} sent${family} { type ${type}; counter; }`,
    `add set ${TABLE} seen${family} { type ${type}; size ${MAX_SEEN}; flags dynamic,timeout; timeout ${SEEN_SECONDS}s; gc-interval 1s; counter; }`,
    `add map ${TABLE} vector_addresses${family} { type ${type} : verdict; }`,
    `add map ${TABLE} vector_networks${family} { type ${type} : verdict; flags interval; }`,
    `add chain ${TABLE} watched${family}`,
    `${chain} ${daddr} vmap @vector_networks${family}`,
    `${chain} ${daddr} vmap @vector_addresses${family}`,
    `${chain} ${daddr} @addresses${family} return`,
    `${chain} update @seen${family} { ${daddr} }`,
  ];
}

function fields(family: Family): { readonly daddr: string; readonly saddr: string } {
  return { daddr: `${IP[family]} daddr`, saddr: `${IP[family]} saddr` };
}

/** In the order of `vectorOf` in core/attacks/vectors.ts. The first match decides. */
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
