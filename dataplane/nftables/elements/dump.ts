import { type Address, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { NetlinkSocket } from '../../kernel/netlink/netlink.ts';
import {
  attributesOf,
  encodeMessage,
  FLAG,
  netfilterHeader,
  textAttribute,
} from '../../kernel/netlink/netlink-message.ts';
import { TABLE_NAME } from '../names.ts';

/** Source of the constants: include/uapi/linux/netfilter/nf_tables.h. */
const GET_ELEMENTS = (10 << 8) | 13;
const NFPROTO_INET = 1;
const HEADER_BYTES = 4;
const LIST = { table: 1, set: 2, elements: 3 } as const;
const KEY = 1;
const VALUE = 1;

/**
 * Passes each element of a set to `each`: the key, and its attributes by type. Returns false if the set changed during
 * the dump.
 */
export function dumpElements(
  socket: NetlinkSocket,
  set: string,
  take: (key: Buffer, attributes: ReadonlyMap<number, Buffer>) => void,
  table = TABLE_NAME,
): Promise<boolean> {
  const request = (sequence: number): Uint8Array =>
    encodeMessage(
      GET_ELEMENTS,
      FLAG.request | FLAG.dump,
      sequence,
      netfilterHeader(NFPROTO_INET),
      textAttribute(LIST.table, table),
      textAttribute(LIST.set, set),
    );
  return socket.dump(request, ({ payload }) => {
    const list = attributesOf(payload, HEADER_BYTES).get(LIST.elements);
    for (const element of list === undefined ? [] : each(list)) {
      const attributes = attributesOf(element);
      const key = attributesOf(attributes.get(KEY) ?? Buffer.alloc(0)).get(VALUE);
      if (key !== undefined) take(key, attributes);
    }
  });
}

/** The payload of each attribute of a list whose attributes have one type. */
export function* each(list: Buffer): Generator<Buffer> {
  for (let at = 0; at + 4 <= list.length; ) {
    const length = Math.max(4, list.readUInt16LE(at));
    yield list.subarray(at + 4, at + length);
    at += (length + 3) & ~3;
  }
}

/** `bytes` are in network order, 4 or 16 of them. */
export function addressText(bytes: Buffer): string {
  return formatAddress(addressOf(bytes));
}

function addressOf(bytes: Buffer): Address {
  const family: Family = bytes.length === 4 ? 4 : 6;
  if (family === 4) return { family, value: BigInt(bytes.readUInt32BE()) };
  return { family, value: (bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8) };
}
