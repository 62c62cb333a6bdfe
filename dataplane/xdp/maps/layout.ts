import {
  type CompiledRules,
  type EarlyRule,
  type EarlyTarget,
  type Form,
  REASONS,
  type Spilled,
} from '../compile/early-target.ts';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';

/** layout.h in TypeScript. A test keeps both the same. */
export const LAYOUT = {
  SMALL_RULES: 16,
  LARGE_RULES: 128,
  MAX_FORMS: 16,
  KEEP_REPLIES: 1,
  FLOWS_COMPLETE: 2,
  HAS_PREFIXES_4: 4,
  HAS_PREFIXES_6: 8,
  HAS_VLANS: 16,
  MANY_MANAGED: 32,
  MARKS_ALL: 64,
  MANAGED_PORTS: 10,
  NAMED_DEVICES: 8,
  LINE_SECOND: 0x85ebca6b,
  LINE_PORTS: 6,
  LINE_WORDS: 2,
  LINE_PASSES: 2 ** 31,
  LINE_WIDE: 2 ** 30,
  LINE_EXACT: 2 ** 29,
  WIDE_WORDS: 32,
  IN_LARGE: 1,
  SPILLED: 2,
  ASKS_SETS: 4,
  MITIGATED: 8,
  FILTERED: 16,
  EXACT: 32,
  SAFE_NETWORKS: 8,
  KEY_HAS_PORT: 2 ** 24,
  RULE_DROPS: 2 ** 31,
  RULE_REASON_SHIFT: 28,
  RULE_SETS: 2 ** 27,
  RULE_INSIDE: 2 ** 26,
  REASONS: 6,
  REASON_MITIGATIONS: 4,
  REASON_GREETINGS: 5,
  GREETING_BYTES: 64,
  GREETING_CHECKS: 4,
  MAX_GREETINGS: 16,
  GREETING_SETS: 256,
  COUNTERS_IN_VALUE: 64,
  SAMPLE_BYTES: 96,
  CELLS: 16_384,
  CLASSES: 1024,
  VECTORS: 27,
  SUSPECTS: 4096,
  EPOCH_SHIFT: 28,
  REPORTED_SAMPLE_BYTES: 40,
  REPORTED_BITS: 14,
  REPORTED_WORDS: 256,
  PASS_WAYS: 2,
  PORT_IN: 1,
  PORT_OUT: 2,
  PORT_CHECKS: 4,
  PORT_ANSWERS: 8,
  PORT_TC_OUT: 16,
  FLOW_MARKS: 2 ** 21,
  HOST_BITS: 12,
  HOST_MARKS: 2 ** 12,
} as const;

const HEAD = 40;
const RULE_BYTES: Readonly<Record<Family, number>> = { 4: 16, 6: 40 };
const FORM_BYTES = 24;
const PROTOCOL_MASK = 0xff_0000;
/** No packet has protocol 0 and a port. */
const NO_KEY = LAYOUT.KEY_HAS_PORT;
const PORT_MASK = LAYOUT.KEY_HAS_PORT + PROTOCOL_MASK + 0xffff;

export type SizeClass = 'small' | 'large';

/** A map element. */
export interface Encoded {
  readonly map: string;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Numbers of the loaded unions of source sets, by name. */
export type Unions = ReadonlyMap<string, number>;

/** The content of an element besides its rules. */
export interface Placement {
  readonly slot: number;
  /** Must differ from the version of any element that this one may replace. */
  readonly version: number;
  readonly unions: Unions;
}
interface Written extends Placement {
  readonly check: number;
  /** Flags of the head that do not depend on rules. */
  readonly flags: number;
}

/** The elements of a target. The first contains the rules; an element in the small map may only refer to it. */
export function encodeTarget(target: EarlyTarget, placement: Placement): Encoded[] {
  const { cidr, rules } = target;
  const flags =
    (target.statelessDrops.length > 0 ? LAYOUT.MITIGATED : 0) +
    (target.greetedPorts.length > 0 ? LAYOUT.FILTERED : 0) +
    (isExactWith(target, placement.unions) ? LAYOUT.EXACT : 0);
  const written = { ...placement, check: checkOf(cidr), flags };
  const { family } = cidr;
  const single = cidr.length === BITS[family];
  if (!single) {
    const value = encodeValue(family, 'large', rules, written);
    return [{ map: `prefix_${family}`, key: prefixKey(cidr), value }];
  }
  const key = addressBytes(cidr);
  if (fits(rules)) {
    const value = encodeValue(family, 'small', rules, written);
    return [{ map: `small_${family}`, key, value }];
  }
  const value = encodeValue(family, 'large', rules, written);
  const pointer = Buffer.alloc(valueBytes(family, 'small'));
  writeHead(pointer, NOTHING, { ...written, flags: LAYOUT.IN_LARGE });
  return [
    { map: `large_${family}`, key, value },
    { map: `small_${family}`, key, value: pointer },
  ];
}

/** A rule on an unknown union matches nothing here, and nftables knows better. */
function isExactWith({ isExact, unions }: EarlyTarget, known: Unions): boolean {
  return isExact && [...unions.keys()].every((name) => known.has(name));
}

const NOTHING: Extract<CompiledRules, { kind: 'listed' }> = {
  kind: 'listed',
  rules: [],
  portless: 0,
  fallback: null,
};

/**
 * The look-ups of a target with too many rules. Their keys contain the version: until the target's own element is
 * replaced, packets use the look-ups of the previous version.
 */
export function encodeSpilled(
  spilled: readonly Spilled[],
  slot: number,
  version: number,
): Encoded[] {
  return spilled.map(({ form, match, source, verdict }) => {
    const key = Buffer.alloc(28);
    key.writeUInt32LE(slot, 0);
    key.writeUInt32LE(level(form, version), 4);
    key.writeUInt32LE(match, 8);
    source?.copy(key, 12);
    const value = Buffer.alloc(4);
    value.writeUInt32LE(verdictBits(verdict), 0);
    return { map: 'spilled', key, value };
  });
}

/** The maps that hold a target's elements, except `spilled`. */
export function mapsOf({ cidr, rules }: EarlyTarget): readonly string[] {
  const { prefix, small, large } = MAPS[cidr.family];
  if (cidr.length !== BITS[cidr.family]) return prefix;
  return fits(rules) ? small : large;
}

const mapsOfFamily = (family: Family) => ({
  prefix: [`prefix_${family}`],
  small: [`small_${family}`],
  large: [`large_${family}`, `small_${family}`],
});
const MAPS = { 4: mapsOfFamily(4), 6: mapsOfFamily(6) };

/** Whether the rules fit into an element of the small map. */
export function fits(rules: CompiledRules): boolean {
  return rules.kind === 'listed' && rules.rules.length <= LAYOUT.SMALL_RULES;
}

export function valueBytes(family: Family, size: SizeClass): number {
  const rules = size === 'small' ? LAYOUT.SMALL_RULES : LAYOUT.LARGE_RULES;
  return HEAD + rules * RULE_BYTES[family];
}

/** In network order, as in a packet. */
export function addressBytes({ family, value }: Pick<Cidr, 'family' | 'value'>): Buffer {
  const bytes = Buffer.allocUnsafe(BITS[family] / 8);
  if (family === 4) {
    bytes.writeUInt32BE(Number(value), 0);
  } else {
    bytes.writeBigUInt64BE(value >> 64n, 0);
    bytes.writeBigUInt64BE(value & LOW_64, 8);
  }
  return bytes;
}
const LOW_64 = (1n << 64n) - 1n;

export function maskBytes(family: Family, length: number): Buffer {
  const bytes = Buffer.alloc(BITS[family] / 8);
  bytes.fill(0xff, 0, length >> 3);
  if (length % 8 !== 0) bytes[length >> 3] = 0xff00 >> (length % 8);
  return bytes;
}

export function prefixKey(cidr: Cidr): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(cidr.length, 0);
  return Buffer.concat([length, addressBytes(cidr)]);
}

/** KEY of layout.h, of a packet or of what a rule matches. */
export function packetKey(protocol: number, port: number | null): number {
  return protocol * 65_536 + (port === null ? 0 : LAYOUT.KEY_HAS_PORT + port);
}

export function keyMask(protocol: number | null, port: number | null): number {
  if (port !== null) return PORT_MASK;
  return protocol === null ? 0 : PROTOCOL_MASK;
}

function encodeValue(
  family: Family,
  size: SizeClass,
  rules: CompiledRules,
  written: Written,
): Buffer {
  const value = Buffer.alloc(valueBytes(family, size));
  if (rules.kind === 'spilled') {
    writeHead(value, rules, { ...written, flags: written.flags | LAYOUT.SPILLED });
    rules.forms.forEach((form, index) => writeForm(value, form, index, written.version));
    return value;
  }
  const asksSets = rules.rules.some((rule) => rule.sets !== null);
  const flags = written.flags | (asksSets ? LAYOUT.ASKS_SETS : 0);
  writeHead(value, rules, { ...written, flags });
  rules.rules.forEach((rule, index) => writeRule(value, rule, index, family, written.unions));
  return value;
}

function writeHead(
  value: Buffer,
  rules: CompiledRules,
  { slot, version, check, flags }: Written,
): void {
  const listed = rules.kind === 'listed' ? rules : NOTHING;
  const plain = listed.rules.slice(0, listed.portless);
  const ported = listed.rules.slice(listed.portless);
  value.writeUInt32LE(version, 0);
  value.writeUInt32LE(check, 4);
  value.writeUInt32LE(slot, 8);
  value.writeUInt16LE(rules.kind === 'listed' ? rules.rules.length : rules.forms.length, 12);
  value.writeUInt16LE(listed.portless, 14);
  value.writeBigUInt64LE(
    plain.reduce((bits, rule) => bits | sourceBits(rule), 0n),
    16,
  );
  value.writeBigUInt64LE(
    ported.reduce((bits, rule) => bits | portBits(rule), 0n),
    24,
  );
  value.writeUInt8(rules.fallback === null ? 0 : 1 + REASONS.indexOf(rules.fallback), 32);
  value.writeUInt8(flags, 33);
}

function portBits({ protocol, port }: EarlyRule): bigint {
  return protocol === null || port === null ? EVERY_BIT : bitOf(packetKey(protocol, port));
}

/** Bits by the first octet of IPv4 and the first four of IPv6. A shorter source network could match any packet. */
function sourceBits({ source }: EarlyRule): bigint {
  if (source === null) return EVERY_BIT;
  const { family, value, length } = source;
  if (length < (family === 4 ? 8 : 32)) return EVERY_BIT;
  if (family === 4) return bitOf(Number(value >> 24n));
  return bitOf(addressBytes(source).readUInt32LE(0));
}

const EVERY_BIT = (1n << 64n) - 1n;

/** Hashes a 32-bit number to one of 64 bits. */
function bitOf(key: number): bigint {
  return 1n << BigInt(Math.imul(key, 0x9e3779b1) >>> 26);
}

/** Identifies the address of an element; 0 for a prefix. */
function checkOf(cidr: Cidr): number {
  if (cidr.length !== BITS[cidr.family]) return 0;
  const bytes = addressBytes(cidr);
  let check = 0;
  for (let at = 0; at < bytes.length; at += 4) check ^= bytes.readUInt32LE(at);
  return check >>> 0;
}

function writeRule(
  value: Buffer,
  rule: EarlyRule,
  index: number,
  family: Family,
  unions: Unions,
): void {
  const { protocol, port, source, sets } = rule;
  const at = HEAD + index * RULE_BYTES[family];
  const words = BITS[family] / 8;
  if (sets !== null) {
    const union = unions.get(sets.name);
    // A rule on an unknown union is left to nftables: it gets a key that no packet has.
    const setsMask = LAYOUT.RULE_SETS + (sets.inside ? LAYOUT.RULE_INSIDE : 0);
    value.writeUInt32LE(union ?? NO_KEY, at + words * 2);
    const mask = union === undefined ? PORT_MASK : setsMask;
    value.writeUInt32LE(mask + verdictBits(rule.verdict), at + words * 2 + 4);
    return;
  }
  if (source !== null) {
    addressBytes(source).copy(value, at);
    maskBytes(family, source.length).copy(value, at + words);
  }
  value.writeUInt32LE(protocol === null ? 0 : packetKey(protocol, port), at + words * 2);
  value.writeUInt32LE(keyMask(protocol, port) + verdictBits(rule.verdict), at + words * 2 + 4);
}

function writeForm(value: Buffer, form: Form, index: number, version: number): void {
  const at = HEAD + index * FORM_BYTES;
  value.writeUInt32LE(form.mask, at);
  value.writeUInt32LE(level(index, version), at + 4);
  form.sourceMask?.copy(value, at + 8);
}

function level(form: number, version: number): number {
  return ((version << 4) | form) >>> 0;
}

function verdictBits(verdict: EarlyRule['verdict']): number {
  if (verdict === 'pass') return 0;
  return LAYOUT.RULE_DROPS + REASONS.indexOf(verdict) * 2 ** LAYOUT.RULE_REASON_SHIFT;
}

export const GOLDEN = 0x9e3779b1;

/** Hashes an address in network order so that neighbours spread. packet.h has the same function. */
export function addressHash(family: Family, address: Buffer): number {
  if (family === 4) return Math.imul(address.readUInt32BE(0), GOLDEN) >>> 0;
  return (
    (Math.imul(address.readUInt32LE(0), 0x85ebca6b) +
      Math.imul(address.readUInt32LE(4), 0xc2b2ae35) +
      Math.imul(address.readUInt32LE(8), 0x27d4eb2f) +
      Math.imul(address.readUInt32BE(12), GOLDEN)) >>>
    0
  );
}
