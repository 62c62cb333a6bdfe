import { type Address, BITS, type Family } from '@portcullis/core/net/address.ts';
import { NETLINK, NetlinkSocket } from './netlink.ts';
import {
  attribute,
  attributesOf,
  encodeMessage,
  FLAG,
  MalformedMessage,
  type Message,
  messagesOf,
  netfilterHeader,
} from './netlink-message.ts';
import { SystemError } from '../native.ts';

/** One direction of a connection. Addresses are 4 or 16 bytes and valid only during the callback. */
export interface Tuple {
  readonly family: Family;
  readonly protocol: number;
  readonly source: Buffer;
  readonly destination: Buffer;
  /** Null for protocols without ports. */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
}

/** A connection: the tuple of its first packet, and that of its replies after NAT. */
export interface Connection extends Tuple {
  readonly reply: Tuple;
  /** Type and code of the first packet if it is ICMP. */
  readonly icmp: { readonly type: number; readonly code: number } | null;
  /** The time until it expires without traffic; null if the kernel does not report it. */
  readonly secondsLeft: number | null;
  /** Packets of both directions were seen. */
  readonly isAnswered: boolean;
  /** A SYN proxy opened it and translates its sequence numbers. */
  readonly isProxied: boolean;
}

/** Source of all numbers: include/uapi/linux/netfilter/nfnetlink_conntrack.h. */
const SUBSYSTEM = 1 << 8;
const [NEW, GET, DELETE] = [SUBSYSTEM | 0, SUBSYSTEM | 1, SUBSYSTEM | 2] as const;
const CTA = {
  tupleOrig: 1,
  tupleReply: 2,
  status: 3,
  timeout: 7,
  id: 12,
  zone: 18,
  synProxy: 24,
} as const;
const TUPLE = { ip: 1, proto: 2 } as const;
const TUPLE_IP = {
  4: { source: 1, destination: 2 },
  6: { source: 3, destination: 4 },
} as const;
/** IPS_SEEN_REPLY of include/uapi/linux/netfilter/nf_conntrack_common.h. */
const SEEN_REPLY = 1 << 1;
const PROTO = { number: 1, sourcePort: 2, destinationPort: 3 } as const;
const ICMP = { 4: { type: 5, code: 6 }, 6: { type: 8, code: 9 } } as const;
const AF: Readonly<Record<Family, number>> = { 4: 2, 6: 10 };
const ANY_FAMILY = 0;
const DELETES_A_SEND = 64;
const BUFFER_BYTES = 1 << 20;

/**
 * Visits every connection. Those that start or end meanwhile may be missing. Resolves to false if the kernel reports
 * that its table changed, so that others may be missing too.
 */
export async function eachConnection(visit: (connection: Connection) => void): Promise<boolean> {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: BUFFER_BYTES });
  try {
    let isComplete = true;
    for (const family of [4, 6] as const) {
      const request = (sequence: number): Uint8Array =>
        encodeMessage(GET, FLAG.request | FLAG.dump, sequence, netfilterHeader(AF[family]));
      const consistent = await socket.dump(request, (message) => {
        const one = parseConnection(message);
        if (one !== null) visit(one.connection);
      });
      isComplete &&= consistent;
    }
    return isComplete;
  } finally {
    socket.close();
  }
}

/**
 * Deletes all connections of these families that `wanted` selects, so that their next packets start new ones.
 * `wanted` is called once for each connection and must be fast. The kernel walks its whole table, so avoid this on
 * hot paths. Resolves to the number of removed connections. Throws `SystemError` or `NativeUnavailable`.
 */
export async function removeWhere(
  families: readonly Family[],
  wanted: (connection: Connection) => boolean,
): Promise<number> {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: BUFFER_BYTES });
  try {
    const found: Found[] = [];
    for (const family of families) {
      const request = (sequence: number): Uint8Array =>
        encodeMessage(GET, FLAG.request | FLAG.dump, sequence, netfilterHeader(AF[family]));
      // Connections that start meanwhile are evaluated anyway, and ones that end cause no error.
      await socket.dump(request, (message) => {
        const one = parseConnection(message);
        if (one !== null && wanted(one.connection)) found.push({ family, identity: one.identity });
      });
    }
    return await removeFound(socket, found);
  } finally {
    socket.close();
  }
}

export interface Removal {
  /** Whether connections to this address may be `wanted`. Called for every connection, so it must be fast. */
  readonly mayMatch: (family: Family, destination: Buffer) => boolean;
  /** Called once for each of those. The connection is valid only during that call. */
  readonly wanted: (connection: Connection) => boolean;
  /** Awaited with the number of selected connections before they are removed. False keeps them. */
  readonly confirm: (count: number) => Promise<boolean>;
}

export interface RemovalResult {
  readonly removed: number;
  /** The table did not change during the dump, so no connection was missed. */
  readonly isComplete: boolean;
}

/**
 * Like `removeWhere` for both families, but in small batches with bounded memory. Throws `SystemError` or
 * `NativeUnavailable`, and what `confirm` throws.
 */
export async function removeConnections({
  mayMatch,
  wanted,
  confirm,
}: Removal): Promise<RemovalResult> {
  const [dumping, removing] = [1, 2].map(
    () => new NetlinkSocket(NETLINK.netfilter, { bufferBytes: BUFFER_BYTES }),
  ) as [NetlinkSocket, NetlinkSocket];
  let found: Found[] = [];
  let removed = 0;
  try {
    const take = (message: Message): void => {
      const family = message.payload[0] === AF[4] ? 4 : 6;
      const destination = firstDestination(message, family);
      if (destination === null || !mayMatch(family, destination)) return;
      const one = parseConnection(message);
      if (one !== null && wanted(one.connection)) found.push({ family, identity: one.identity });
    };
    const between = async (): Promise<void> => {
      if (found.length === 0) return;
      const some = found;
      found = [];
      if (await confirm(some.length)) removed += await removeFound(removing, some);
    };
    const request = (sequence: number): Uint8Array =>
      encodeMessage(GET, FLAG.request | FLAG.dump, sequence, netfilterHeader(ANY_FAMILY));
    // The kernel walks the table of all network namespaces, even if few entries belong to this one.
    const isComplete = await dumping.dump(request, take, { between, offThread: true });
    return { removed, isComplete };
  } finally {
    dumping.close();
    removing.close();
  }
}

/**
 * The destination of the first packet, found without parsing the rest. The kernel always writes it at the same
 * offset: after the headers of netfilter, the tuple and its addresses (4 bytes each), and the source attribute.
 */
function firstDestination({ type, payload }: Message, family: Family): Buffer | null {
  if (type !== NEW) return null;
  const bytes = family === 4 ? 4 : 16;
  const at = 12 + 4 + bytes;
  const [wanted, length] = [TUPLE_IP[family].destination, 4 + bytes];
  if (payload.length < at + length || payload[0] !== AF[family]) return null;
  const isThere = payload.readUInt16LE(at) === length && payload.readUInt16LE(at + 2) === wanted;
  return isThere ? payload.subarray(at + 4, at + length) : null;
}

interface Found {
  readonly family: Family;
  readonly identity: Buffer;
}

async function removeFound(socket: NetlinkSocket, found: readonly Found[]): Promise<number> {
  let removed = 0;
  for (let at = 0; at < found.length; at += DELETES_A_SEND) {
    const messages = found
      .slice(at, at + DELETES_A_SEND)
      .map(({ family, identity }) =>
        encodeMessage(
          DELETE,
          FLAG.request | FLAG.ack,
          socket.nextSequence(),
          netfilterHeader(AF[family]),
          identity,
        ),
      );
    socket.send(Buffer.concat(messages));
    removed += countRemoved(socket);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return removed;
}

function countRemoved(socket: NetlinkSocket): number {
  let removed = 0;
  for (let datagram = socket.receive(); datagram !== null; datagram = socket.receive()) {
    for (const { error } of messagesOf(datagram)) {
      if (error === null) continue;
      if (error === 0) removed++;
      else {
        const failure = new SystemError('remove a connection', error);
        if (failure.code !== 'ENOENT') throw failure;
      }
    }
  }
  return removed;
}

function parseConnection(
  message: Message,
): { readonly connection: Connection; readonly identity: Buffer } | null {
  if (message.type !== NEW) return null;
  const { payload } = message;
  const family = payload[0] === AF[4] ? 4 : 6;
  const attributes = attributesOf(payload, 4);
  const orig = attributes.get(CTA.tupleOrig);
  if (orig === undefined) throw new MalformedMessage('a connection without its first packet');
  const reply = attributes.get(CTA.tupleReply);
  if (reply === undefined) throw new MalformedMessage('a connection without its replies');
  const connection = {
    ...parseTuple(family, orig),
    reply: parseTuple(family, reply),
    icmp: parseIcmp(family, orig),
    secondsLeft: attributes.get(CTA.timeout)?.readUInt32BE(0) ?? null,
    isAnswered: ((attributes.get(CTA.status)?.readUInt32BE(0) ?? 0) & SEEN_REPLY) !== 0,
    isProxied: attributes.has(CTA.synProxy),
  };
  const identity = [
    attribute(CTA.tupleOrig | 0x8000, orig),
    // A newer connection with the same tuple has another id and is kept.
    ...[CTA.id, CTA.zone].flatMap((type) => {
      const value = attributes.get(type);
      return value === undefined ? [] : [attribute(type, value)];
    }),
  ];
  return { connection, identity: Buffer.concat(identity) };
}

function parseTuple(family: Family, bytes: Buffer): Tuple {
  const tuple = attributesOf(bytes);
  const ip = attributesOf(tuple.get(TUPLE.ip) ?? Buffer.alloc(0));
  const proto = attributesOf(tuple.get(TUPLE.proto) ?? Buffer.alloc(0));
  const source = ip.get(TUPLE_IP[family].source);
  const destination = ip.get(TUPLE_IP[family].destination);
  const protocol = proto.get(PROTO.number)?.[0];
  if (source === undefined || destination === undefined || protocol === undefined) {
    throw new MalformedMessage('a connection without its addresses or protocol');
  }
  const port = (type: number): number | null => proto.get(type)?.readUInt16BE(0) ?? null;
  return {
    family,
    protocol,
    source,
    destination,
    sourcePort: port(PROTO.sourcePort),
    destinationPort: port(PROTO.destinationPort),
  };
}

function parseIcmp(family: Family, bytes: Buffer): Connection['icmp'] {
  const proto = attributesOf(attributesOf(bytes).get(TUPLE.proto) ?? Buffer.alloc(0));
  const [type, code] = [proto.get(ICMP[family].type)?.[0], proto.get(ICMP[family].code)?.[0]];
  return type === undefined || code === undefined ? null : { type, code };
}

/** The address in network order. */
export function bytesOf({ family, value }: Address): Buffer {
  return Buffer.from(value.toString(16).padStart(BITS[family] / 4, '0'), 'hex');
}
