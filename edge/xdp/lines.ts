import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { EarlyRule, EarlyTarget } from './compile.ts';
import { GOLDEN } from './address-hash.ts';
import { addressBytes, LAYOUT, maskBytes, packetKey, REASONS, verdictBits } from './layout.ts';

/** A line without its version, and the bits of its `wide` where it has one; `struct line` of layout.h says what it is. */
export interface EncodedLine {
  readonly line: Buffer;
  readonly wide: Buffer | null;
}

export const LINE_BYTES = 64;
export const WIDE_BYTES = 2 * 8 * LAYOUT.WIDE_WORDS;
/** Of the sources; those of ports follow. */
const BITS_AT = 40;
/** So many bits of a line may be set before too many packets meet one by chance. */
const MAX_NARROW = { sources: 6, ports: 12 } as const;

/** Null: it has no line, and is judged by the other maps. */
export function planLine(target: EarlyTarget): PlannedLine | null {
  const { cidr, rules } = target;
  if (cidr.length !== BITS[cidr.family] || rules.kind === 'spilled') return null;
  const asked = rules.rules.filter(isOfTcpOrUdp);
  const ports = asked.filter(({ port }) => port !== null);
  const others = asked.filter(({ port }) => port === null);
  const exact = ports.filter((rule) => isExact(rule, asked, rules.fallback !== null));
  const isWide = others.length > MAX_NARROW.sources || ports.length > MAX_NARROW.ports;
  return { cidr, fallback: rules.fallback, ports, others, exact, isWide };
}

export interface PlannedLine {
  readonly cidr: Cidr;
  readonly fallback: EarlyRule['verdict'] | null;
  readonly ports: readonly EarlyRule[];
  readonly others: readonly EarlyRule[];
  readonly exact: readonly EarlyRule[];
  readonly isWide: boolean;
}

/** `slot`, `slots`: of its counters. `wide`: where its further bits stand. */
export function encodeLine(
  { cidr, fallback, ports, others, exact, isWide }: PlannedLine,
  { slot, slots, wide }: { readonly slot: number; readonly slots: number; readonly wide: number },
): EncodedLine {
  const { family } = cidr;
  const line = Buffer.alloc(LINE_BYTES);
  const reason = fallback === null || fallback === 'pass' ? null : REASONS.indexOf(fallback);
  const place = reason === null ? LAYOUT.LINE_PASSES + slot : reason * slots + slot;
  line.writeUInt32LE(place + (isWide ? LAYOUT.LINE_WIDE : 0), 4);
  addressBytes(cidr).copy(line, 8);
  const maskAt = 8 + BITS[family] / 8;
  const sourceMask = commonMask(others, family);
  line.writeUInt32LE(sourceMask, maskAt);
  const exactAt = maskAt + 4;
  const bits = bitsOf({ ports, others }, sourceMask, family, isWide ? LAYOUT.WIDE_WORDS : null);
  if (isWide) {
    line.writeUInt32LE(wide, exactAt);
    line.fill(0xff, BITS_AT);
    return { line, wide: bits };
  }
  exact.slice(0, EXACT[family]).forEach(({ protocol, port, verdict }, index) => {
    const key = packetKey(protocol ?? 0, port);
    line.writeUInt32LE(key + verdictBits(verdict), exactAt + 4 * index);
  });
  bits.copy(line, BITS_AT);
  return { line, wide: null };
}

const EXACT: Readonly<Record<Family, number>> = { 4: LAYOUT.LINE_EXACT_4, 6: LAYOUT.LINE_EXACT_6 };

function isOfTcpOrUdp({ protocol }: EarlyRule): boolean {
  return protocol === null || protocol === 6 || protocol === 17;
}

/** Whoever sends to that port has its verdict, which is not that of all others; unless a rule names his source. */
function isExact(rule: EarlyRule, rules: readonly EarlyRule[], endsInDrop: boolean): boolean {
  const { protocol, port, source, sets, verdict } = rule;
  if (protocol === null || source !== null || sets !== null) return false;
  if (endsInDrop !== (verdict === 'pass')) return false;
  return rules.every(
    (other) =>
      other.verdict === verdict ||
      other.port !== port ||
      (other.protocol !== null && other.protocol !== protocol),
  );
}

/** Bits of ports that no line judges, as they stand in a line. */
export function portBits(keys: readonly number[]): Buffer {
  const bits = Buffer.alloc(8 * LAYOUT.LINE_PORTS);
  for (const key of keys) setPort(bits, 0, key, null);
  return bits;
}

/** Of `sources` and, behind them, `ports`: those of a line, or of a wide of so many words. */
function bitsOf(
  { ports, others }: Pick<PlannedLine, 'ports' | 'others'>,
  sourceMask: number,
  family: Family,
  words: number | null,
): Buffer {
  const portsAt = 8 * (words ?? 1);
  const bits = Buffer.alloc(portsAt + 8 * (words ?? LAYOUT.LINE_PORTS));
  for (const { source } of others) {
    const hash = source === null ? null : sourceHash(source, sourceMask, family);
    if (hash === null) bits.fill(0xff, 0, portsAt);
    else setBoth(bits, words === null ? 0 : (hash >>> 15) & (words - 1), hash);
  }
  for (const { protocol, port } of ports) {
    if (protocol === null) bits.fill(0xff, portsAt);
    else setPort(bits, portsAt, packetKey(protocol, port), words);
  }
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
