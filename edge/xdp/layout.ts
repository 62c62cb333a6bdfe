import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { CompiledRules, EarlyRule, EarlyTarget, Form, Spilled } from './compile.ts';

/** layout.h in TypeScript: bytes that the programs read. A test holds the two together. */
export const LAYOUT = {
  SMALL_RULES: 16,
  LARGE_RULES: 128,
  MAX_FORMS: 16,
  KEEP_REPLIES: 1,
  FLOWS_COMPLETE: 2,
  HAS_PREFIXES_4: 4,
  HAS_PREFIXES_6: 8,
  HAS_VLANS: 16,
  IN_LARGE: 1,
  SPILLED: 2,
  KEY_HAS_PORT: 2 ** 24,
  RULE_DROPS: 2 ** 31,
  RULE_REASON_SHIFT: 28,
  REASONS: 2,
  SAMPLE_BYTES: 96,
  FLOW_MARKS: 2 ** 21,
  HOST_MARKS: 2 ** 12,
} as const;

const HEAD = 24;
const TAIL = 8;
const RULE_BYTES: Readonly<Record<Family, number>> = { 4: 16, 6: 40 };
const FORM_BYTES = 24;
const PROTOCOL_MASK = 0xff_0000;
const PORT_MASK = LAYOUT.KEY_HAS_PORT + PROTOCOL_MASK + 0xffff;

/** In the order of the counters of a slot. */
export const REASONS = ['rules', 'baseline'] as const;
export type Reason = (typeof REASONS)[number];

export type SizeClass = 'small' | 'large';

/** Where a target's element goes; `mark` stands in the small map for what the large one has. */
export interface Encoded {
  readonly map: string;
  readonly key: Buffer;
  readonly value: Buffer;
}

/**
 * The elements of one target: its own first, then what only stands for it. `version` differs from that of
 * every element that this one may replace.
 */
export function encodeTarget(target: EarlyTarget, slot: number, version: number): Encoded[] {
  const { cidr, rules } = target;
  const { family } = cidr;
  const single = cidr.length === BITS[family];
  if (!single) {
    const value = encodeValue(family, 'large', rules, slot, version);
    return [{ map: `prefix_${family}`, key: prefixKey(cidr), value }];
  }
  const key = addressBytes(cidr);
  if (fits(rules)) {
    const value = encodeValue(family, 'small', rules, slot, version);
    return [{ map: `small_${family}`, key, value }];
  }
  const value = encodeValue(family, 'large', rules, slot, version);
  const pointer = Buffer.alloc(valueBytes(family, 'small'));
  writeHead(pointer, { version, slot, flags: LAYOUT.IN_LARGE, rules: NOTHING });
  return [
    { map: `large_${family}`, key, value },
    { map: `small_${family}`, key, value: pointer },
  ];
}

const NOTHING: CompiledRules = { kind: 'listed', rules: [], portRules: 0, fallback: null };

/**
 * Elements of `spilled` that a target with too many rules looks up. Their names carry the version: until the
 * target's own element is replaced, packets are judged by those of the version before, untouched.
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

/** The maps that a target's elements go to, `spilled` apart. */
export function mapsOf({ cidr, rules }: EarlyTarget): string[] {
  const { family } = cidr;
  if (cidr.length !== BITS[family]) return [`prefix_${family}`];
  return fits(rules) ? [`small_${family}`] : [`large_${family}`, `small_${family}`];
}

/** Whether the address's rules stand in the first class. */
export function fits(rules: CompiledRules): boolean {
  return rules.kind === 'listed' && rules.rules.length <= LAYOUT.SMALL_RULES;
}

export function valueBytes(family: Family, size: SizeClass): number {
  const rules = size === 'small' ? LAYOUT.SMALL_RULES : LAYOUT.LARGE_RULES;
  return HEAD + rules * RULE_BYTES[family] + TAIL;
}

/** Network order, as it stands in a packet. */
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

/** KEY of layout.h: of a packet, or what a rule asks of it. */
export function packetKey(protocol: number, port: number | null): number {
  return protocol * 65_536 + (port === null ? 0 : LAYOUT.KEY_HAS_PORT + port);
}

export function keyMask(protocol: number | null, port: number | null): number {
  if (port !== null) return PORT_MASK;
  return protocol === null ? 0 : PROTOCOL_MASK;
}

/** Which of 64 bits stands for a port. */
export function portBit(key: number): bigint {
  return 1n << BigInt(Math.imul(key, 0x9e3779b1) >>> 26);
}

function encodeValue(
  family: Family,
  size: SizeClass,
  rules: CompiledRules,
  slot: number,
  version: number,
): Buffer {
  const value = Buffer.alloc(valueBytes(family, size));
  const spilled = rules.kind === 'spilled';
  writeHead(value, { version, slot, flags: spilled ? LAYOUT.SPILLED : 0, rules });
  if (spilled) rules.forms.forEach((form, index) => writeForm(value, form, index, version));
  else rules.rules.forEach((rule, index) => writeRule(value, rule, index, family));
  return value;
}

interface Head {
  readonly version: number;
  readonly slot: number;
  readonly flags: number;
  readonly rules: CompiledRules;
}

function writeHead(value: Buffer, { version, slot, flags, rules }: Head): void {
  const listed = rules.kind === 'listed';
  let ports = 0n;
  if (listed) {
    for (const { protocol, port } of rules.rules.slice(0, rules.portRules)) {
      if (port !== null) ports |= portBit(packetKey(protocol as number, port));
    }
  }
  value.writeUInt32LE(version, 0);
  value.writeUInt32LE(slot, 4);
  value.writeBigUInt64LE(ports, 8);
  value.writeUInt16LE(listed ? rules.rules.length : rules.forms.length, 16);
  value.writeUInt16LE(listed ? rules.portRules : 0, 18);
  value.writeUInt8(rules.fallback === null ? 0 : 1 + REASONS.indexOf(rules.fallback), 20);
  value.writeUInt8(flags, 21);
  value.writeUInt32LE(version, value.length - TAIL);
}

function writeRule(value: Buffer, rule: EarlyRule, index: number, family: Family): void {
  const { protocol, port, source } = rule;
  const at = HEAD + index * RULE_BYTES[family];
  const words = BITS[family] / 8;
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
