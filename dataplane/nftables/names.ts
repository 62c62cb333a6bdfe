import { createHash } from 'node:crypto';
import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { NAMED_SOURCES, SOURCE_FIELD } from './policy/named-sources.ts';
import type { Fields } from '../compile/program.ts';

/** Our only table with rules. All of its contents are ours, so a restarted agent knows what to replace. */
export const TABLE_NAME = 'portcullis';
export const TABLE = `inet ${TABLE_NAME}`;
/** A separate table, so that counters are rewritten without the rules. */
export const COUNTER_TABLE_NAME = 'portcullis_counters';
export const COUNTER_TABLE = `inet ${COUNTER_TABLE_NAME}`;
/** A separate table too: it samples what passes, and changes with other things than the rules. */
export const PASSED_TABLE_NAME = 'portcullis_passed';
export const PASSED_TABLE = `inet ${PASSED_TABLE_NAME}`;
/** A separate table too: it is there only while a subject is busy. */
export const CONNECTIONS_TABLE_NAME = 'portcullis_connections';
export const CONNECTIONS_TABLE = `inet ${CONNECTIONS_TABLE_NAME}`;

export const IP: Readonly<Record<Family, 'ip' | 'ip6'>> = { 4: 'ip', 6: 'ip6' };
export const ADDRESS_TYPE: Readonly<Record<Family, string>> = { 4: 'ipv4_addr', 6: 'ipv6_addr' };

/**
 * The maps keyed by destination first. `prefix` is an interval map. `filter` maps ports to the chains of their filters.
 */
export type Dispatch = 'port' | 'address' | 'prefix' | 'filter' | PortDispatch;

/**
 * Dispatch by a server's address and port: `learn` sees replies, `untrack` excludes SYNs from conntrack, `synproxy`
 * answers them, `connect` limits new connections. Each has an interval map for prefixes.
 */
export const PORT_DISPATCHES = ['learn', 'untrack', 'synproxy', 'connect'] as const;
export type PortDispatch = (typeof PORT_DISPATCHES)[number];

export function dispatchMap(dispatch: Dispatch, family: Family): string {
  return DISPATCH_MAPS[family][dispatch];
}

/**
 * The verdicts of numbered maps, by number. An element with a chain makes the kernel validate every element of every
 * verdict map, so the maps that grow with the addresses have numbers, and only these small maps have chains. There are
 * several, because the kernel refuses a chain that looks up a map in which it is itself.
 */
export const VERDICT_MAPS = [
  'verdicts_address',
  'verdicts_port',
  'verdicts_source',
  'verdicts_filter',
] as const;
const NUMBERED: ReadonlyMap<string, string> = new Map(
  (['address', 'port', 'filter'] as const).flatMap((dispatch) =>
    ([4, 6] as const).map((family) => [`${dispatch}${family}`, `verdicts_${dispatch}`] as const),
  ),
);

/**
 * The map with the verdicts of a numbered map; null for a map that has the verdicts itself. Maps of hooks that see what
 * the host sends have them, because the number becomes the priority of the packet (`lookup`).
 */
export function verdictMapOf(map: string): string | null {
  return NUMBERED.get(map) ?? (map.startsWith('source') ? 'verdicts_source' : null);
}

/** The type of the data in the declaration of a map. */
export function dataType(map: string): string {
  return verdictMapOf(map) === null ? 'verdict' : NUMBER_TYPE;
}

const NUMBER_TYPE = 'classid';

/** A map for each combination of fields, prefix length and level in use. */
export interface SourceMap {
  readonly family: Family;
  readonly fields: Fields;
  readonly length: number;
  readonly level: number;
}

export function sourceMapName({ family, fields, length, level }: SourceMap): string {
  // Interned: hundreds of thousands of elements hold these names, and maps are looked up by them.
  const key = ((level * 129 + length) * 3 + FIELD_NUMBERS[fields]) * 2 + (family === 4 ? 0 : 1);
  let name = sourceMapNames.get(key);
  if (name === undefined) {
    name = `source${family}_${fields}_${length}_${level}`;
    if (sourceMapNames.size >= MAX_NAMES) sourceMapNames.clear();
    sourceMapNames.set(key, name);
  }
  return name;
}

export function parseSourceMapName(name: string): SourceMap | null {
  const match = /^source([46])_(port|protocol|any)_(\d+)_(\d+)$/.exec(name);
  if (match === null) return null;
  return {
    family: match[1] === '4' ? 4 : 6,
    fields: match[2] as Fields,
    length: Number(match[3]),
    level: Number(match[4]),
  };
}

/** The interval map of the prefixes with a dispatch. */
export function prefixMap(dispatch: PortDispatch, family: Family): string {
  return `${dispatch}_prefix${family}`;
}

/** The key type in the declaration of a map, or of a set that we fill. */
export function keyType(name: string): string {
  const source = parseSourceMapName(name);
  if (source !== null) {
    const address = ADDRESS_TYPE[source.family];
    return [address, ...FIELD_TYPES[source.fields], address].join(' . ');
  }
  if ((VERDICT_MAPS as readonly string[]).includes(name)) return NUMBER_TYPE;
  const family: Family = name.endsWith('4') ? 4 : 6;
  if (name === NAMED_SOURCES[family]) return SOURCE_FIELD;
  if (name.endsWith(`_prefix${family}`)) return ADDRESS_TYPE[family];
  const dispatch = name.slice(0, -1) as Dispatch;
  if (isPortDispatch(dispatch)) return `${ADDRESS_TYPE[family]} . inet_service`;
  return [ADDRESS_TYPE[family], ...FIELD_TYPES[DISPATCH_FIELDS[dispatch]]].join(' . ');
}

function isPortDispatch(dispatch: Dispatch): dispatch is PortDispatch {
  return (PORT_DISPATCHES as readonly string[]).includes(dispatch);
}

export function dispatchStatement(
  dispatch: Exclude<Dispatch, PortDispatch>,
  family: Family,
): string {
  return lookup(key(family, DISPATCH_FIELDS[dispatch]), dispatchMap(dispatch, family));
}

/**
 * Looks up a verdict, or a number and then its verdict, in one rule, which ends if one is missing. In the text of nft,
 * only a field of the packet leads from one lookup to the next. Hosts route by its mark; its priority does no harm
 * (`table/verdict-numbers.ts`).
 */
function lookup(fields: string, map: string): string {
  const verdicts = verdictMapOf(map);
  if (verdicts === null) return `${fields} vmap @${map}`;
  return `meta priority set ${fields} map @${map} meta priority vmap @${verdicts}`;
}

export function sourceStatement(map: SourceMap): string {
  const { family, fields, length } = map;
  const address = `${IP[family]} saddr`;
  const source = length === BITS[family] ? address : `(${address} & ${netmask(family, length)})`;
  return lookup(`${key(family, fields)} . ${source}`, sourceMapName(map));
}

/** The name if the grammar of nft has it, so that nothing depends on /etc/protocols. */
export function protocolName(protocol: number): string {
  return PROTOCOL_NAMES[protocol] ?? String(protocol);
}

/** The number of a name that `protocolName` returned; NaN for another name. */
export function protocolNumber(name: string): number {
  return PROTOCOL_NUMBERS.get(name) ?? (/^\d{1,3}$/.test(name) ? Number(name) : Number.NaN);
}

const FIELD_NUMBERS: Readonly<Record<Fields, number>> = { port: 0, protocol: 1, any: 2 };
const sourceMapNames = new Map<number, string>();

/** 80 bits of hash: a deliberate collision is infeasible. */
export function contentName(kind: string, content: string): string {
  const key = `${kind}\n${content}`;
  let name = contentNames.get(key);
  if (name === undefined) {
    name = `${kind}_${createHash('sha256').update(content).digest('hex').slice(0, 20)}`;
    if (contentNames.size >= MAX_NAMES) contentNames.clear();
    contentNames.set(key, name);
  }
  return name;
}

/** A cache: most addresses share a few contents. */
const contentNames = new Map<string, string>();
const MAX_NAMES = 1000;

function key(family: Family, fields: Fields): string {
  return [`${IP[family]} daddr`, ...KEY_FIELDS[fields]].join(' . ');
}

function netmask(family: Family, length: number): string {
  const all = (1n << BigInt(BITS[family])) - 1n;
  const host = (1n << BigInt(BITS[family] - length)) - 1n;
  return formatAddress({ family, value: all ^ host });
}

const KEY_FIELDS: Readonly<Record<Fields, readonly string[]>> = {
  port: ['meta l4proto', 'th dport'],
  protocol: ['meta l4proto'],
  any: [],
};
const FIELD_TYPES: Readonly<Record<Fields, readonly string[]>> = {
  port: ['inet_proto', 'inet_service'],
  protocol: ['inet_proto'],
  any: [],
};
const DISPATCH_FIELDS: Readonly<Record<Exclude<Dispatch, PortDispatch>, Fields>> = {
  port: 'port',
  address: 'any',
  prefix: 'any',
  filter: 'port',
};
const DISPATCHES: readonly Dispatch[] = ['port', 'address', 'prefix', 'filter', ...PORT_DISPATCHES];
const DISPATCH_MAPS = { 4: namesWith(4), 6: namesWith(6) } as const;

function namesWith(family: Family): Readonly<Record<Dispatch, string>> {
  const names = DISPATCHES.map((dispatch) => [dispatch, `${dispatch}${family}`] as const);
  return Object.fromEntries(names) as Record<Dispatch, string>;
}

const PROTOCOL_NAMES: Readonly<Record<number, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  47: 'gre',
  50: 'esp',
  58: 'icmpv6',
};
const PROTOCOL_NUMBERS = new Map(
  Object.entries(PROTOCOL_NAMES).map(([number, name]) => [name, Number(number)]),
);
