import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import {
  type EarlyRule,
  type EarlyTarget,
  type Reason,
  REASONS,
} from '../../compile/early-target.ts';
import { addressBytes, GOLDEN, LAYOUT, maskBytes, packetKey } from '../layout.ts';

/** A line without its version, and its `struct wide` if it has one. See `struct line` of layout.h. */
export interface EncodedLine {
  readonly line: Buffer;
  readonly wide: Buffer | null;
}

export const LINE_BYTES = 64;
export const WIDE_BYTES = 2 * 8 * LAYOUT.WIDE_WORDS;
const MASK_AT: Readonly<Record<Family, number>> = { 4: 12, 6: 24 };
const NAMED_AT = 28;
/** The bits of sources, followed by those of ports. */
const BITS_AT = 40;
/** With more sources, too many packets would match the bits by chance. */
const MAX_SOURCES = 6;
const ALL_NEED_RULES = 2 ** LAYOUT.LINE_PORTS - 1;

/** Returns null if the target has no line, so that the other maps evaluate it. */
export function planLine(target: EarlyTarget): PlannedLine | null {
  const { cidr, rules, statelessDrops, greetedPorts, unions } = target;
  // Lines contain no source ports.
  if (statelessDrops.length > 0) return null;
  if (cidr.length !== BITS[cidr.family] || rules.kind === 'spilled') return null;
  const { fallback } = rules;
  const relevant = rules.rules.filter(({ protocol }) => protocol === null || isPorted(protocol));
  const others = relevant.filter(({ port }) => port === null);
  const filtered = greetedPorts.map(({ port }) => packetKey(UDP, port));
  const named = namedPorts(relevant, fallback, filtered);
  const isWide = others.length > MAX_SOURCES || named.length > LAYOUT.LINE_PORTS;
  const isExact = target.isExact && unions.size === 0;
  return { cidr, fallback, named, others, isWide, isExact };
}

export interface PlannedLine {
  readonly cidr: Cidr;
  readonly fallback: Reason | null;
  readonly named: readonly NamedPort[];
  /** Rules without a port. */
  readonly others: readonly EarlyRule[];
  readonly isWide: boolean;
  /** See `EarlyTarget`. */
  readonly isExact: boolean;
}

interface NamedPort {
  readonly protocol: number;
  readonly port: number;
  /** The verdict for all sources that no other rule names; null if it depends on more. */
  readonly verdict: EarlyRule['verdict'] | null;
}

/** `slot`, `slots`: of the counters. `wide`: the index of its `struct wide`. */
export function encodeLine(
  plan: PlannedLine,
  { slot, slots, wide }: { readonly slot: number; readonly slots: number; readonly wide: number },
): EncodedLine {
  const { cidr, fallback, named, others, isWide, isExact } = plan;
  const { family } = cidr;
  const line = Buffer.alloc(LINE_BYTES);
  const reason = fallback ?? closingReason(named);
  const counterIndex = (reason === null ? 0 : REASONS.indexOf(reason)) * slots + slot;
  const flags =
    (fallback === null ? LAYOUT.LINE_PASSES : 0) +
    (isWide ? LAYOUT.LINE_WIDE : 0) +
    (isExact ? LAYOUT.LINE_EXACT : 0);
  line.writeUInt32LE(counterIndex + flags, 4);
  addressBytes(cidr).copy(line, 8);
  const sourceMask = commonMask(others, family);
  line.writeUInt32LE(sourceMask, MASK_AT[family]);
  bitsOf(plan, sourceMask, null).copy(line, BITS_AT);
  if (isWide) {
    line.writeUInt32LE(wide, NAMED_AT);
    return { line, wide: bitsOf(plan, sourceMask, LAYOUT.WIDE_WORDS) };
  }
  writeNamed(line, named, fallback === null ? reason : 'pass');
  return { line, wide: null };
}

/** `other`: the verdict that is not the fallback. */
function writeNamed(
  line: Buffer,
  named: readonly NamedPort[],
  other: EarlyRule['verdict'] | null,
): void {
  let [udp, needRules] = [0, ALL_NEED_RULES];
  named.forEach(({ protocol, port, verdict }, index) => {
    line.writeUInt16LE(port, NAMED_AT + 2 * index);
    if (protocol === UDP) udp |= 1 << index;
    if (verdict !== null && verdict === other) needRules &= ~(1 << index);
  });
  line.writeUInt8(udp, 2);
  line.writeUInt8(needRules, 3);
}

const TCP = 6;
const UDP = 17;

function isPorted(protocol: number): boolean {
  return protocol === TCP || protocol === UDP;
}

/** Merges the rules of each port. Packets to filtered ports are evaluated whole. */
function namedPorts(
  rules: readonly EarlyRule[],
  fallback: Reason | null,
  filtered: readonly number[],
): NamedPort[] {
  const byKey = new Map<number, NamedPort & { readonly rules: EarlyRule[] }>();
  for (const rule of rules) {
    const { port } = rule;
    if (port === null) continue;
    for (const protocol of rule.protocol === null ? [TCP, UDP] : [rule.protocol]) {
      const key = packetKey(protocol, port);
      const known = byKey.get(key) ?? { protocol, port, verdict: null, rules: [] };
      known.rules.push(rule);
      byKey.set(key, known);
    }
  }
  for (const key of filtered)
    if (!byKey.has(key))
      byKey.set(key, { protocol: UDP, port: key & 0xffff, verdict: null, rules: [] });
  return [...byKey].map(([key, { protocol, port, rules: ofPort }]) => {
    const [verdict = null] = ofPort.map((rule) => rule.verdict);
    const agree = ofPort.every((rule) => rule.verdict === verdict);
    const forAll = ofPort.some(({ source, sets }) => source === null && sets === null);
    const differs = (verdict === 'pass') !== (fallback === null);
    return {
      protocol,
      port,
      verdict: agree && forAll && differs && !filtered.includes(key) ? verdict : null,
    };
  });
}

/** The reason of closed ports. A line can hold only the first of several reasons. */
function closingReason(named: readonly NamedPort[]): Reason | null {
  for (const { verdict } of named) if (verdict !== null && verdict !== 'pass') return verdict;
  return null;
}

/** The bits of ports that lines must not decide. */
export function portBits(keys: readonly number[]): Buffer {
  const bits = Buffer.alloc(8 * LAYOUT.LINE_WORDS);
  for (const key of keys) setPort(bits, 0, key, null);
  return bits;
}

/** The bits of sources followed by those of ports, for a line or for a `struct wide` of `words`. */
function bitsOf(
  { cidr: { family }, named, others }: PlannedLine,
  sourceMask: number,
  words: number | null,
): Buffer {
  const portsAt = 8 * (words ?? 1);
  const bits = Buffer.alloc(portsAt + 8 * (words ?? LAYOUT.LINE_WORDS));
  for (const { source } of others) {
    const hash = source === null ? null : sourceHash(source, sourceMask, family);
    if (hash === null) bits.fill(0xff, 0, portsAt);
    else setBoth(bits, words === null ? 0 : (hash >>> 15) & (words - 1), hash);
  }
  for (const { protocol, port } of named) setPort(bits, portsAt, packetKey(protocol, port), words);
  return bits;
}

function setPort(bits: Buffer, at: number, key: number, words: number | null): void {
  const hash = Math.imul(key, GOLDEN) >>> 0;
  const word = words === null ? (hash >>> 19) & 1 : (hash >>> 15) & (words - 1);
  setBoth(bits.subarray(at), word, hash);
}

function setBoth(bits: Buffer, word: number, hash: number): void {
  for (const bit of [hash >>> 26, (hash >>> 20) & 63]) {
    const at = word * 8 + (bit >> 3);
    bits[at] = (bits[at] ?? 0) | (1 << (bit & 7));
  }
}

/** The longest mask that all rules without a port have in common. For IPv6, of the second word. */
function commonMask(others: readonly EarlyRule[], family: Family): number {
  const before = family === 4 ? 0 : 32;
  const lengths = others.flatMap(({ source }) => source?.length ?? []);
  const length = Math.min(32, ...lengths.map((one) => Math.max(0, one - before)));
  return maskBytes(4, length).readUInt32LE(0);
}

/** Returns null if the source may be any address. */
function sourceHash(source: Cidr, mask: number, family: Family): number | null {
  const bytes = addressBytes(source);
  if (family === 4) return Math.imul(bytes.readUInt32LE(0) & mask, GOLDEN) >>> 0;
  if (source.length < 32) return null;
  const first = Math.imul(bytes.readUInt32LE(0), 0x85ebca6b);
  return Math.imul(first ^ (bytes.readUInt32LE(4) & mask), GOLDEN) >>> 0;
}
