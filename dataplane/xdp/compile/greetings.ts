import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Filter, Signature } from '@portcullis/core/filters/filter.ts';
import { combineFilters } from '@portcullis/core/filters/program.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { BITS } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { GreetedPort, Greetings } from './early-target.ts';
import { LAYOUT } from '../maps/layout.ts';

/**
 * The UDP ports whose filters let unvalidated sources send greetings only. Left to nftables: filters that spare some
 * sources, more greetings than a port has room for, and prefixes.
 */
export function greetedPortsOf({ filters }: Policy, cidr: Cidr): GreetedPort[] {
  if (cidr.length !== BITS[cidr.family]) return [];
  const byPort = Map.groupBy(filters, ({ port }) => port);
  return [...byPort].flatMap(([port, ofPort]): GreetedPort[] => {
    if (ofPort.some(({ safelist }) => safelist.length > 0)) return [];
    const greetings = greetingsOf([...new Set(ofPort.map(({ type }) => type))].toSorted());
    return greetings === null ? [] : [{ port, greetings }];
  });
}

/** Most ports of a fleet have one of few combinations of filters. Settings change no greetings. */
const known = new Map<string, Greetings | null>();
const MAX_KNOWN = 1_024;

/** Null if the filters of these types leave the port to nftables. */
function greetingsOf(types: readonly string[]): Greetings | null {
  const name = types.join(' ');
  const found = known.get(name);
  if (found !== undefined) return found;
  const filters = (FILTERS as readonly Filter[]).filter(({ type }) => types.includes(type));
  const program = combineFilters(filters, 'udp');
  // nftables evaluates their rates.
  const signatures =
    program?.transport === 'udp' && program.greetings.length > 0
      ? [...program.greetings, ...(program.roaming?.kinds ?? []).flatMap(({ packets }) => packets)]
      : [];
  const isEarly = signatures.length > 0 && signatures.length <= LAYOUT.MAX_GREETINGS;
  const greetings = isEarly ? { signatures, encoded: encodeGreetings(signatures) } : null;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(name, greetings);
  return greetings;
}

const FILTERED_KEY_BYTES = 8;
const CHECK_BYTES = 24;
const GREETING_BYTES = 8 + LAYOUT.GREETING_CHECKS * CHECK_BYTES;
/** `struct greetings` of layout.h. */
export const GREETINGS_BYTES = 8 + LAYOUT.MAX_GREETINGS * GREETING_BYTES;
const WINDOW_BYTES = 8;
const LONGEST = 0xffff;

/** The key of a port in `filtered`. */
export function filteredKey(slot: number, port: number): Buffer {
  const key = Buffer.alloc(FILTERED_KEY_BYTES);
  key.writeUInt32LE(slot, 0);
  key.writeUInt32LE(port, 4);
  return key;
}

/**
 * Encodes a `struct greetings`. Bytes that a packet is not asked for, because they are too many or too far behind, let
 * more pass to nftables.
 */
function encodeGreetings(greetings: readonly Signature[]): Buffer {
  const bytes = Buffer.alloc(GREETINGS_BYTES);
  bytes.writeUInt32LE(greetings.length, 0);
  // Where greetings are read some at a time, the rest must fit no packet.
  for (let index = 0; index < LAYOUT.MAX_GREETINGS; index++)
    bytes.writeUInt16LE(LONGEST, 8 + index * GREETING_BYTES);
  greetings.forEach((greeting, index) => {
    const at = 8 + index * GREETING_BYTES;
    const compared = comparedBytes(greeting);
    const needed = Math.max(0, ...[...compared.keys()].map((offset) => offset + 1));
    bytes.writeUInt16LE(Math.min(LONGEST, Math.max(greeting.minLength, needed)), at);
    bytes.writeUInt16LE(Math.min(LONGEST, greeting.maxLength), at + 2);
    windowsOf([...compared.keys()]).forEach((offset, check) => {
      const from = at + 8 + check * CHECK_BYTES;
      bytes.writeUInt32LE(offset, from);
      for (let byte = 0; byte < WINDOW_BYTES; byte++) {
        const { value = 0, mask = 0 } = compared.get(offset + byte) ?? {};
        bytes.writeUInt8(value, from + 8 + byte);
        bytes.writeUInt8(mask, from + 16 + byte);
      }
    });
  });
  return bytes;
}

interface ComparedByte {
  readonly value: number;
  readonly mask: number;
}

/** Bytes by offset in the payload. */
function comparedBytes({ bytes }: Signature): Map<number, ComparedByte> {
  const compared = new Map<number, ComparedByte>();
  for (const { offset, hex, mask } of bytes) {
    const masks = mask === undefined ? null : Buffer.from(mask, 'hex');
    Buffer.from(hex, 'hex').forEach((value, index) => {
      const place = offset + index;
      if (place < LAYOUT.GREETING_BYTES)
        compared.set(place, { value, mask: masks?.[index] ?? 0xff });
    });
  }
  return compared;
}

/** The offsets of eight bytes each that cover the first of these offsets. */
function windowsOf(offsets: readonly number[]): number[] {
  const windows: number[] = [];
  for (const offset of offsets.toSorted((a, b) => a - b)) {
    const last = windows.at(-1);
    if (last !== undefined && offset < last + WINDOW_BYTES) continue;
    if (windows.length === LAYOUT.GREETING_CHECKS) break;
    windows.push(offset);
  }
  return windows;
}
