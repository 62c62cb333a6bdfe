import { parseAddress } from '@portcullis/core/net/address.ts';
import { bytesOf } from '../../kernel/netlink/conntrack.ts';
import type { MapChange } from '../driver.ts';
import { SOURCE_FIELD } from '../policy/named-sources.ts';
import { stateType } from '../filters/state.ts';
import { keyType, protocolNumber, TABLE_NAME, verdictMapOf } from '../names.ts';

/**
 * Encodes element changes as nf_tables messages. nft loads every interval set of the table first, which takes 0.3 s for
 * one with the networks of a large country.
 *
 * Supported are verdict maps, maps of numbers (`names.ts`) and plain sets whose key fields have the types below. Other changes go through nft.
 *
 *     message  = header of netlink (16) | header of netfilter (4) | table | set | elements
 *     elements = nested( element = nested( key = nested(value) , flags? , data = nested(verdict | value) , timeout? ) ... )
 *
 * Source: include/uapi/linux/netfilter/nf_tables.h.
 */
const SUBSYSTEM = 10;
const [NEW_ELEMENT, DELETE_ELEMENT] = [(SUBSYSTEM << 8) | 12, (SUBSYSTEM << 8) | 14] as const;
const [BATCH_BEGIN, BATCH_END] = [0x10, 0x11] as const;
const [REQUEST, ACK, CREATE] = [0x1, 0x4, 0x400] as const;
const NFPROTO_INET = 1;
const LIST = { table: 1, set: 2, elements: 3, element: 1 } as const;
const ELEMENT = { key: 1, data: 2, flags: 3, timeout: 4 } as const;
const DATA = { value: 1, verdict: 2 } as const;
const VERDICT = { code: 1, chain: 2 } as const;
const INTERVAL_END = 1;
const CODES: Readonly<Record<string, number>> = {
  accept: 1,
  drop: 0,
  jump: -3,
  goto: -4,
  return: -5,
};
const TIMED = /^(.*) timeout (\d+)s$/;
const NESTED = 0x8000;
/** The length field of an attribute has 16 bits. */
const MAX_LIST = 60_000;
/** A batch is one datagram, which the kernel accepts whole or not at all. Larger changes go through nft. */
const MAX_BATCH = 24 << 20;

/**
 * Encodes these changes as one transaction. Returns null if a change is not supported. Every message has the sequence
 * number; the last one requests an acknowledgement.
 */
export function encodeChanges(changes: readonly MapChange[], sequence: number): Buffer | null {
  const writer = new Writer();
  writer.boundary(BATCH_BEGIN, sequence);
  for (const change of changes) {
    const encoded = elementsOf(change);
    if (encoded === null) return null;
    const { removed, added } = encoded;
    if (change.flush === true) writer.message(DELETE_ELEMENT, REQUEST, sequence, change.map, []);
    if (removed.length > 0) writer.message(DELETE_ELEMENT, REQUEST, sequence, change.map, removed);
    if (added.length > 0)
      writer.message(NEW_ELEMENT, REQUEST | CREATE, sequence, change.map, added);
    if (writer.length > MAX_BATCH) return null;
  }
  writer.askForAnswer();
  writer.boundary(BATCH_END, sequence);
  return writer.bytes();
}

interface Encoded {
  readonly key: Uint8Array;
  readonly end: boolean;
  /** A verdict or its number; null for the elements of a set. */
  readonly data: Verdict | number | null;
  readonly seconds: number | null;
}
interface Verdict {
  readonly code: number;
  readonly chain: string | null;
}

function elementsOf(change: MapChange): { removed: Encoded[]; added: Encoded[] } | null {
  const types = (stateType(change.map) ?? keyType(change.map)).split(' . ');
  const removed: Encoded[] = [];
  for (const text of change.removed) {
    const key = encodeKey(types, text);
    if (key === null) return null;
    removed.push({ key, end: false, data: null, seconds: null });
  }
  const added: Encoded[] = [];
  const parse = verdictMapOf(change.map) === null ? parseVerdict : parseNumber;
  for (const [entry, value] of change.added) {
    const [, text = entry, time] = TIMED.exec(entry) ?? [];
    const seconds = time === undefined ? null : Number(time);
    const data = value === null ? null : parse(value);
    const keys = change.flush === true ? encodeRange(types, text) : [encodeKey(types, text)];
    if ((data === null && value !== null) || keys === null) return null;
    for (const [index, key] of keys.entries()) {
      if (key === null) return null;
      added.push(
        index === 0 ? { key, end: false, data, seconds } : { key, end: true, data: null, seconds },
      );
    }
  }
  return { removed, added };
}

/** Concatenates the fields; the kernel pads each to 4 bytes. */
function encodeKey(types: readonly string[], text: string): Uint8Array | null {
  const fields = text.split(' . ');
  if (fields.length !== types.length) return null;
  const parts: Uint8Array[] = [];
  for (const [index, type] of types.entries()) {
    const part = encodeField(type, fields[index] ?? '');
    if (part === null) return null;
    parts.push(part);
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}

function encodeField(type: string, text: string): Uint8Array | null {
  if (type === 'ipv4_addr' || type === 'ipv6_addr') {
    const address = parseAddress(text);
    if (!address.ok || address.value.family !== (type === 'ipv4_addr' ? 4 : 6)) return null;
    return bytesOf(address.value);
  }
  if (type === SOURCE_FIELD) return sourceField(Number(text));
  const value = type === 'inet_proto' ? protocolNumber(text) : Number(text);
  const most = type === 'inet_proto' ? 255 : type === 'inet_service' ? 65_535 : -1;
  if (!Number.isInteger(value) || value < 0 || value > most) return null;
  return type === 'inet_proto'
    ? Uint8Array.of(value, 0, 0, 0)
    : Uint8Array.of(value >> 8, value & 255, 0, 0);
}

/** A single field has no padding. */
function sourceField(value: number): Uint8Array | null {
  if (!Number.isInteger(value) || value < 0 || value > 65_535) return null;
  return Uint8Array.of(value >> 8, value & 255);
}

/** The first key of an interval, and the first key after it if there is one. */
function encodeRange(types: readonly string[], text: string): (Uint8Array | null)[] | null {
  if (types.length !== 1) return null;
  const [first = '', last = first] = text.split('-');
  const [begin, end] = [encodeKey(types, first), encodeKey(types, last)];
  if (begin === null || end === null) return null;
  const behind = Uint8Array.from(end);
  for (let at = behind.length - 1; at >= 0; at--) {
    behind[at] = ((behind[at] ?? 0) + 1) & 255;
    if (behind[at] !== 0) return [begin, behind];
  }
  return [begin];
}

function parseVerdict(text: string): Verdict | null {
  const [word = '', chain = null, ...more] = text.split(' ');
  const code = CODES[word];
  const wantsChain = code === CODES['goto'] || code === CODES['jump'];
  if (code === undefined || more.length > 0 || wantsChain !== (chain !== null)) return null;
  return { code, chain };
}

function parseNumber(text: string): number | null {
  const [, major = '', minor = ''] = /^([\da-f]{1,4}):([\da-f]{1,4})$/.exec(text) ?? [];
  return major === '' ? null : Number.parseInt(major, 16) * 65_536 + Number.parseInt(minor, 16);
}

/** A growing buffer. Thousands of small buffers would cost more than the kernel's work. */
class Writer {
  #bytes = Buffer.alloc(65_536);
  #last = 0;
  length = 0;

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  boundary(type: number, sequence: number): void {
    const begin = this.#begin(type, REQUEST, sequence);
    // The subsystem of the batch, in network order.
    this.#bytes[this.#reserve(4) + 3] = SUBSYSTEM;
    this.#bytes.writeUInt32LE(this.length - begin, begin);
  }

  askForAnswer(): void {
    const flags = this.#bytes.readUInt16LE(this.#last + 6);
    this.#bytes.writeUInt16LE(flags | ACK, this.#last + 6);
  }

  /** Splits the elements into messages. Without elements, the message flushes the map. */
  message(
    type: number,
    flags: number,
    sequence: number,
    map: string,
    elements: readonly Encoded[],
  ): void {
    let at = 0;
    do {
      const begin = this.#begin(type, flags, sequence);
      const family = this.#reserve(4);
      this.#bytes[family] = NFPROTO_INET;
      this.#text(LIST.table, TABLE_NAME);
      this.#text(LIST.set, map);
      if (elements.length > 0) {
        const list = this.#open(LIST.elements);
        while (at < elements.length && this.length - list < MAX_LIST) {
          this.#element(elements[at++] as Encoded);
        }
        this.#close(list);
      }
      this.#bytes.writeUInt32LE(this.length - begin, begin);
    } while (at < elements.length);
  }

  #begin(type: number, flags: number, sequence: number): number {
    const begin = this.#reserve(16);
    this.#bytes.writeUInt16LE(type, begin + 4);
    this.#bytes.writeUInt16LE(flags, begin + 6);
    this.#bytes.writeUInt32LE(sequence, begin + 8);
    this.#last = begin;
    return begin;
  }

  #element({ key, end, data, seconds }: Encoded): void {
    const element = this.#open(LIST.element);
    const keyAt = this.#open(ELEMENT.key);
    this.#attribute(DATA.value, key);
    this.#close(keyAt);
    if (end) this.#number(ELEMENT.flags, INTERVAL_END);
    if (data !== null) this.#data(data);
    if (seconds !== null) this.#milliseconds(ELEMENT.timeout, seconds * 1_000);
    this.#close(element);
  }

  #data(data: Verdict | number): void {
    const at = this.#open(ELEMENT.data);
    if (typeof data === 'number') {
      // A number is in the byte order of the host: the kernel compares it with a field of the packet.
      const value = this.#header(DATA.value, 4);
      this.#bytes.writeUInt32LE(data, value);
    } else {
      const nested = this.#open(DATA.verdict);
      this.#number(VERDICT.code, data.code);
      if (data.chain !== null) this.#text(VERDICT.chain, data.chain);
      this.#close(nested);
    }
    this.#close(at);
  }

  #open(type: number): number {
    const at = this.#reserve(4);
    this.#bytes.writeUInt16LE(type | NESTED, at + 2);
    return at;
  }

  #close(at: number): void {
    this.#bytes.writeUInt16LE(this.length - at, at);
  }

  #number(type: number, value: number): void {
    const at = this.#header(type, 4);
    this.#bytes.writeInt32BE(value, at);
  }

  #milliseconds(type: number, value: number): void {
    const at = this.#header(type, 8);
    this.#bytes.writeBigUInt64BE(BigInt(value), at);
  }

  #text(type: number, text: string): void {
    const at = this.#header(type, text.length + 1);
    this.#bytes.write(text, at, 'latin1');
  }

  #attribute(type: number, value: Uint8Array): void {
    const at = this.#header(type, value.length);
    this.#bytes.set(value, at);
  }

  #header(type: number, length: number): number {
    const at = this.#reserve((4 + length + 3) & ~3);
    this.#bytes.writeUInt16LE(4 + length, at);
    this.#bytes.writeUInt16LE(type, at + 2);
    return at + 4;
  }

  /** Reserves zeroed bytes and returns their offset. */
  #reserve(length: number): number {
    const at = this.length;
    if (at + length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, at + length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.length += length;
    return at;
  }
}
