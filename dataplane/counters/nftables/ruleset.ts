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
  const sets = Map.groupBy(layout.pieces, ({ family, network }) =>
    network === null ? `alone${family}` : `networks${family}`,
  );
  for (const family of [4, 6] as const) {
    const { daddr, saddr } = fields(family);
    // What holds nothing is not looked up either.
    for (const set of [`networks${family}`, `alone${family}`].filter((name) => sets.has(name)))
      lines.push(`add rule ${TABLE} enter ${entering} ${daddr} @${set} jump watched${family}`);
    lines.push(
      `add rule ${TABLE} leave meta l4proto tcp meta length > ${DATA_BYTES} ${saddr} @sent${family}`,
    );
  }
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
  const rules = Object.entries(vectorRules(slot, chain)).flatMap(([name, statements]) =>
    statements.map((statement) => `add rule ${TABLE} ${name} ${statement}`),
  );
  const chains = PARTS.map((part) => `add chain ${TABLE} ${chain}${part}`);
  return [...counters, ...chains, ...rules].join('\n');
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

const PARTS = ['', '_parts', '_udp', '_tcp'] as const;

/** Rules like `vectorOf` in core/attacks/vectors.ts, in few steps for the packets of a flood. */
function vectorRules(slot: number, chain: string): Readonly<Record<string, readonly string[]>> {
  const known = 'fin|syn|rst|psh|ack';
  const counted = (vector: string): string => `counter name ${counterName(slot, vector)} return`;
  const ports = Object.entries(REFLECTORS).map(
    ([name, port]) => `${port} : "${counterName(slot, `udp_${name}`)}"`,
  );
  const reflected = `counter name udp sport map { ${ports.join(', ')} } return`;
  return {
    [chain]: [
      `ip frag-off & 0x3fff != 0 goto ${chain}_parts`,
      `frag frag-off != 0 goto ${chain}_parts`,
      `frag more-fragments 1 goto ${chain}_parts`,
      `meta l4proto vmap { udp : goto ${chain}_udp, tcp : goto ${chain}_tcp }`,
      `meta l4proto { icmp, ipv6-icmp } ${counted('icmp')}`,
      `meta l4proto gre ${counted('gre')}`,
      counted('other'),
    ],
    [`${chain}_parts`]: [
      `ip frag-off & 0x1fff != 0 ${counted('fragment')}`,
      `frag frag-off != 0 ${counted('fragment')}`,
      reflected,
      counted('fragment_first'),
    ],
    [`${chain}_udp`]: [reflected, counted('udp')],
    [`${chain}_tcp`]: [
      `tcp flags & (${known}) == syn ${counted('tcp_syn')}`,
      `tcp flags & (${known}) == (syn|ack) ${counted('tcp_syn_ack')}`,
      `tcp flags & (syn|rst|psh) == rst ${counted('tcp_rst')}`,
      `tcp flags & ack == 0 ${counted('tcp_other')}`,
      `meta length > ${DATA_BYTES} ${counted('tcp_data')}`,
      counted('tcp_ack'),
    ],
  };
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
