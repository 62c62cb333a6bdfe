/**
 * Encodes and parses netlink messages. Headers and netlink's own numbers are in host byte order (little-endian on all
 * supported hosts); attributes of netfilter are in network order. A message is length u32, type u16, flags u16,
 * sequence u32, port u32 and a payload padded to 4. An attribute is length u16 (including the header), type u16 (top
 * bits: nested, network order) and a payload padded to 4. Source: include/uapi/linux/netlink.h.
 */
export interface Message {
  readonly type: number;
  readonly sequence: number;
  /** The data changed while the dump was made. */
  readonly interrupted: boolean;
  /** 0 or an errno of an acknowledgement; null for other messages. */
  readonly error: number | null;
  /** The port of the receiver; 0 for a multicast message. */
  readonly port: number;
  readonly payload: Buffer;
}

/** The kernel sent a malformed message. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

export const FLAG = {
  request: 0x1,
  ack: 0x4,
  dump: 0x300,
  /** With requests that create something. */
  excl: 0x200,
  create: 0x400,
  replace: 0x100,
} as const;
const DUMP_INTERRUPTED = 0x10;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const HEADER_BYTES = 16;
const NESTED = 0x8000;
const TYPE_MASK = 0x3fff;
const MAX_ATTRIBUTE = 0xffff;

/** The length includes the header and all payload. */
export function encodeMessage(
  type: number,
  flags: number,
  sequence: number,
  ...payload: readonly Uint8Array[]
): Buffer {
  const body = payload.reduce((sum, part) => sum + padded(part.length), 0);
  const bytes = Buffer.alloc(HEADER_BYTES + body);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(type, 4);
  bytes.writeUInt16LE(flags, 6);
  bytes.writeUInt32LE(sequence, 8);
  let at = HEADER_BYTES;
  for (const part of payload) {
    bytes.set(part, at);
    at += padded(part.length);
  }
  return bytes;
}

/** The netfilter header: family, version 0, and the resource number of the subsystem. */
export function netfilterHeader(family: number, resource = 0): Buffer {
  return Buffer.from([family, 0, resource >> 8, resource & 0xff]);
}

export function attribute(type: number, payload: Uint8Array): Buffer {
  const length = 4 + payload.length;
  if (length > MAX_ATTRIBUTE) throw new RangeError('an attribute of netlink is too long');
  const bytes = Buffer.alloc(padded(length));
  bytes.writeUInt16LE(length, 0);
  bytes.writeUInt16LE(type, 2);
  bytes.set(payload, 4);
  return bytes;
}

export function nested(type: number, ...attributes: readonly Uint8Array[]): Buffer {
  return attribute(type | NESTED, Buffer.concat(attributes));
}

/** Null-terminated, as the kernel requires. */
export function textAttribute(type: number, text: string): Buffer {
  return attribute(type, Buffer.from(`${text}\0`, 'latin1'));
}

export function u16Attribute(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return attribute(type, bytes);
}

export function u32Attribute(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return attribute(type, bytes);
}

/** Parses the messages of a datagram. Payloads are views. Throws `MalformedMessage`. */
export function messagesOf(datagram: Buffer): Message[] {
  const messages: Message[] = [];
  let at = 0;
  while (at < datagram.length) {
    if (datagram.length - at < HEADER_BYTES) throw new MalformedMessage('half a header');
    const length = datagram.readUInt32LE(at);
    if (length < HEADER_BYTES || length > datagram.length - at) {
      throw new MalformedMessage('a message longer than its datagram');
    }
    const type = datagram.readUInt16LE(at + 4);
    const payload = datagram.subarray(at + HEADER_BYTES, at + length);
    messages.push({
      type,
      sequence: datagram.readUInt32LE(at + 8),
      interrupted: (datagram.readUInt16LE(at + 6) & DUMP_INTERRUPTED) !== 0,
      error: errorOf(type, payload),
      port: datagram.readUInt32LE(at + 12),
      payload,
    });
    at += padded(length);
  }
  return messages;
}

function errorOf(type: number, payload: Buffer): number | null {
  if (type === NLMSG_ERROR) {
    if (payload.length < 4) throw new MalformedMessage('an answer without its errno');
    return 0 - payload.readInt32LE(0);
  }
  // A failed dump reports its errno in its last message.
  return type === NLMSG_DONE && payload.length >= 4 ? 0 - payload.readInt32LE(0) : null;
}

/** Attributes by type, from an offset on. If a type is repeated, the last one counts. Throws `MalformedMessage`. */
export function attributesOf(bytes: Buffer, from = 0): Map<number, Buffer> {
  const attributes = new Map<number, Buffer>();
  let at = from;
  while (at + 4 <= bytes.length) {
    const length = bytes.readUInt16LE(at);
    if (length < 4 || length > bytes.length - at) {
      throw new MalformedMessage('an attribute longer than what it is in');
    }
    attributes.set(bytes.readUInt16LE(at + 2) & TYPE_MASK, bytes.subarray(at + 4, at + length));
    at += padded(length);
  }
  return attributes;
}

/** Removes the terminating null. */
export function textOf(bytes: Buffer | undefined): string | null {
  if (bytes === undefined) return null;
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end === -1 ? bytes.length : end);
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
