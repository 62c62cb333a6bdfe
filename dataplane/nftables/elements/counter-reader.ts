import { SystemError } from '../../kernel/native.ts';
import { NETLINK, NetlinkSocket } from '../../kernel/netlink/netlink.ts';
import {
  attributesOf,
  encodeMessage,
  FLAG,
  type Message,
  netfilterHeader,
  textAttribute,
  textOf,
  u32Attribute,
} from '../../kernel/netlink/netlink-message.ts';
import { addressText, dumpElements, each } from './dump.ts';
import { TABLE_NAME } from '../names.ts';

export interface Count {
  readonly packets: number;
  readonly bytes: number;
}

/** Reads the counters of one of our tables through netlink. nft would load every set of the table first. */
export interface CounterReader {
  /**
   * The counters of a set keyed by destination address. Returns null if the set changed during every attempt to read
   * it.
   */
  elements(set: string): Promise<ReadonlyMap<string, Count> | null>;
  /** The sum of the rule counters of a chain. Returns null like `elements`. */
  chain(name: string): Promise<Count | null>;
  close(): void;
}

export interface NamedCounterReader extends CounterReader {
  /** All named counters. Returns null like `elements`. */
  named(): Promise<ReadonlyMap<string, Count> | null>;
}

// include/uapi/linux/netfilter/nf_tables.h
const SUBSYSTEM = 10;
const GET_RULE = (SUBSYSTEM << 8) | 7;
const GET_OBJECT = (SUBSYSTEM << 8) | 19;
const NFPROTO_INET = 1;
const HEADER_BYTES = 4;
const ELEMENT = { expression: 7, expressions: 11 } as const;
const RULE = { table: 1, chain: 2, expressions: 4 } as const;
const OBJECT = { table: 1, name: 2, type: 3, data: 4 } as const;
const OBJECT_COUNTER = 1;
const EXPRESSION = { name: 1, data: 2 } as const;
const COUNTER = { bytes: 1, packets: 2 } as const;
const NOTHING: Count = { packets: 0, bytes: 0 };
const MAX_TRIES = 3;

/** Reads in the present network namespace of this thread. Throws `SystemError` or `NativeUnavailable`. */
export function openCounterReader(table = TABLE_NAME): NamedCounterReader {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: 1 << 20 });
  const dumpRules = (chain: string, take: (one: Message) => void) =>
    socket.dump(
      (sequence) =>
        encodeMessage(
          GET_RULE,
          FLAG.request | FLAG.dump,
          sequence,
          netfilterHeader(NFPROTO_INET),
          textAttribute(RULE.table, table),
          textAttribute(RULE.chain, chain),
        ),
      take,
    );
  const dumpCounters = (take: (one: Message) => void) =>
    socket.dump(
      (sequence) =>
        encodeMessage(
          GET_OBJECT,
          FLAG.request | FLAG.dump,
          sequence,
          netfilterHeader(NFPROTO_INET),
          textAttribute(OBJECT.table, table),
          u32Attribute(OBJECT.type, OBJECT_COUNTER),
        ),
      take,
    );
  return {
    elements: (set) =>
      consistent((counts) =>
        dumpElements(socket, set, (key, attributes) => takeElement(key, attributes, counts), table),
      ),
    named: () =>
      consistent((counts) => dumpCounters(({ payload }) => takeObject(payload, table, counts))),
    chain: async (name) => {
      const counts = await consistent((found) =>
        dumpRules(name, ({ payload }) => takeRule(payload, table, found)),
      );
      return counts === null ? null : (counts.get(name) ?? NOTHING);
    },
    close: () => socket.close(),
  };
}

type Counts = Map<string, Count>;

/** An interrupted dump may omit or repeat entries, so it is repeated. */
async function consistent(read: (counts: Counts) => Promise<boolean>): Promise<Counts | null> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const counts: Counts = new Map();
    try {
      if (await read(counts)) return counts;
    } catch (error) {
      // The table or set is absent, so nothing was dropped.
      if (error instanceof SystemError && error.code === 'ENOENT') return counts;
      if (!(error instanceof SystemError) || error.code !== 'EINTR') throw error;
    }
  }
  return null;
}

function takeElement(key: Buffer, attributes: ReadonlyMap<number, Buffer>, counts: Counts): void {
  if (key.length !== 4 && key.length !== 16) return;
  const count = countOfElement(attributes);
  if (count) counts.set(addressText(key), count);
}

/** The counter of an element of a set. */
export function countOfElement(attributes: ReadonlyMap<number, Buffer>): Count | undefined {
  const one = attributes.get(ELEMENT.expression);
  const several = attributes.get(ELEMENT.expressions);
  return counterAmong([...(one ? [one] : []), ...(several ? each(several) : [])]);
}

function takeRule(payload: Buffer, table: string, counts: Counts): void {
  const attributes = attributesOf(payload, HEADER_BYTES);
  const chain = textOf(attributes.get(RULE.chain));
  const expressions = attributes.get(RULE.expressions);
  if (textOf(attributes.get(RULE.table)) !== table || chain === null || !expressions) return;
  const count = counterAmong([...each(expressions)]);
  if (!count) return;
  const { packets, bytes } = counts.get(chain) ?? NOTHING;
  counts.set(chain, { packets: packets + count.packets, bytes: bytes + count.bytes });
}

function takeObject(payload: Buffer, table: string, counts: Counts): void {
  const attributes = attributesOf(payload, HEADER_BYTES);
  const name = textOf(attributes.get(OBJECT.name));
  const data = attributes.get(OBJECT.data);
  if (textOf(attributes.get(OBJECT.table)) !== table || name === null || data === undefined) return;
  const count = countOf(data);
  if (count !== null) counts.set(name, count);
}

function counterAmong(expressions: readonly Buffer[]): Count | undefined {
  return expressions.map(counterOf).find((found) => found !== null) ?? undefined;
}

function counterOf(expression: Buffer): Count | null {
  const attributes = attributesOf(expression);
  const data = attributes.get(EXPRESSION.data);
  return textOf(attributes.get(EXPRESSION.name)) !== 'counter' || data === undefined
    ? null
    : countOf(data);
}

function countOf(data: Buffer): Count | null {
  const attributes = attributesOf(data);
  const [bytes, packets] = [attributes.get(COUNTER.bytes), attributes.get(COUNTER.packets)];
  if (bytes?.length !== 8 || packets?.length !== 8) return null;
  return { packets: Number(packets.readBigUInt64BE()), bytes: Number(bytes.readBigUInt64BE()) };
}
