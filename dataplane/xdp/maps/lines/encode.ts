import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import {
  type EarlyRule,
  type EarlyTarget,
  type Reason,
  REASONS,
} from '../../compile/early-target.ts';
import { addressBytes, GOLDEN, LAYOUT, maskBytes, packetKey } from '../layout.ts';

/** A line without its version, and the bits of its `wide` where it has one; `struct line` of layout.h says what it is. */
export interface EncodedLine {
  readonly line: Buffer;
  readonly wide: Buffer | null;
}

export const LINE_BYTES = 64;
export const WIDE_BYTES = 2 * 8 * LAYOUT.WIDE_WORDS;
const MASK_AT: Readonly<Record<Family, number>> = { 4: 12, 6: 24 };
const NAMED_AT = 28;
/** Of the sources; those of ports follow. */
const BITS_AT = 40;
/** So many sources may be named before too many packets meet their bits by chance. */
const MAX_SOURCES = 6;
const ALL_NEED_RULES = 2 ** LAYOUT.LINE_PORTS - 1;

/** Null: it has no line, and is judged by the other maps. */
export function planLine(target: EarlyTarget): PlannedLine | null {
  const { cidr, rules, statelessDrops } = target;
  // Lines know nothing of the ports that packets come from.
  if (statelessDrops.length > 0) return null;
  if (cidr.length !== BITS[cidr.family] || rules.kind === 'spilled') return null;
  const { fallback } = rules;
  const relevant = rules.rules.filter(({ protocol }) => protocol === null || isPorted(protocol));
  const others = relevant.filter(({ port }) => port === null);
  const named = namedPorts(relevant, fallback);
  const isWide = others.length > MAX_SOURCES || named.length > LAYOUT.LINE_PORTS;
  return { cidr, fallback, named, others, isWide };
}

export interface PlannedLine {
  readonly cidr: Cidr;
  readonly fallback: Reason | null;
  readonly named: readonly NamedPort[];
  /** Rules that name no port. */
  readonly others: readonly EarlyRule[];
  readonly isWide: boolean;
}

interface NamedPort {
  readonly protocol: number;
  readonly port: number;
  /** Whose source is not named elsewhere has it; null: it depends on more. */
  readonly verdict: EarlyRule['verdict'] | null;
}

/** `slot`, `slots`: of its counters. `wide`: where its further bits stand. */
export function encodeLine(
  plan: PlannedLine,
  { slot, slots, wide }: { readonly slot: number; readonly slots: number; readonly wide: number },
): EncodedLine {
  const { cidr, fallback, named, others, isWide } = plan;
  const { family } = cidr;
  const line = Buffer.alloc(LINE_BYTES);
  const reason = fallback ?? closingReason(named);
  const counterIndex = (reason === null ? 0 : REASONS.indexOf(reason)) * slots + slot;
  const flags = (fallback === null ? LAYOUT.LINE_PASSES : 0) + (isWide ? LAYOUT.LINE_WIDE : 0);
  line.writeUInt32LE(counterIndex + flags, 4);
  addressBytes(cidr).copy(line, 8);
  const sourceMask = commonMask(others, family);
  line.writeUInt32LE(sourceMask, MASK_AT[family]);
  const bits = bitsOf(plan, sourceMask, isWide ? LAYOUT.WIDE_WORDS : null);
  if (isWide) {
    line.writeUInt32LE(wide, NAMED_AT);
    line.fill(0xff, BITS_AT);
    return { line, wide: bits };
  }
  writeNamed(line, named, fallback === null ? reason : 'pass');
  bits.copy(line, BITS_AT);
  return { line, wide: null };
}

/** `other`: the fate that not all packets have. */
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

/** Each port once, with what its rules agree in. */
function namedPorts(rules: readonly EarlyRule[], fallback: Reason | null): NamedPort[] {
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
  return [...byKey.values()].map(({ protocol, port, rules: ofPort }) => {
    const [verdict = null] = ofPort.map((rule) => rule.verdict);
    const agree = ofPort.every((rule) => rule.verdict === verdict);
    const forAll = ofPort.some(({ source, sets }) => source === null && sets === null);
    const differs = (verdict === 'pass') !== (fallback === null);
    return { protocol, port, verdict: agree && forAll && differs ? verdict : null };
  });
}

/** What ports are closed by; of several reasons only the first is told by lines. */
function closingReason(named: readonly NamedPort[]): Reason | null {
  for (const { verdict } of named) if (verdict !== null && verdict !== 'pass') return verdict;
  return null;
}

/** Bits of ports that no line judges, as they stand in a line. */
export function portBits(keys: readonly number[]): Buffer {
  const bits = Buffer.alloc(8 * LAYOUT.LINE_WORDS);
  for (const key of keys) setPort(bits, 0, key, null);
  return bits;
}

/** Of `sources` and, behind them, `ports`: those of a line, or of a wide of so many words. */
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

/** As much of a source as every rule names that names no port; of IPv6 of its second word. */
function commonMask(others: readonly EarlyRule[], family: Family): number {
  const before = family === 4 ? 0 : 32;
  const lengths = others.flatMap(({ source }) => source?.length ?? []);
  const length = Math.min(32, ...lengths.map((one) => Math.max(0, one - before)));
  return maskBytes(4, length).readUInt32LE(0);
}

/** Null: it may be any. */
function sourceHash(source: Cidr, mask: number, family: Family): number | null {
  const bytes = addressBytes(source);
  if (family === 4) return Math.imul(bytes.readUInt32LE(0) & mask, GOLDEN) >>> 0;
  if (source.length < 32) return null;
  const first = Math.imul(bytes.readUInt32LE(0), 0x85ebca6b);
  return Math.imul(first ^ (bytes.readUInt32LE(4) & mask), GOLDEN) >>> 0;
}
