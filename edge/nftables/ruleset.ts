import { NETLINK, NetlinkSocket } from '../kernel/netlink.ts';
import {
  attributesOf,
  encodeMessage,
  FLAG,
  netfilterHeader,
  textAttribute,
} from '../kernel/netlink-message.ts';
import { SystemError } from '../kernel/native.ts';
import { DriverError } from './driver.ts';
import { TABLE_NAME } from './names.ts';

/** Source of all numbers: include/uapi/linux/netfilter/nf_tables.h. */
const SUBSYSTEM = 10 << 8;
const MESSAGE = {
  getTable: SUBSYSTEM | 1,
  newGeneration: SUBSYSTEM | 15,
  getGeneration: SUBSYSTEM | 16,
} as const;
const TABLE_NAME_ATTRIBUTE = 1;
const GENERATION_ID = 1;
const NFPROTO_INET = 1;

/** Questions to nf_tables that read no contents: microseconds each, whatever the table holds. */
export interface Ruleset {
  /** Whether our table is there. */
  present(): boolean;
  /** The number of the ruleset, which every transaction of anybody makes greater. */
  generation(): number;
  close(): void;
}

/** Throws `NativeUnavailable` or `SystemError`; what is asked later throws `DriverError`. */
export function openRuleset(): Ruleset {
  const socket = new NetlinkSocket(NETLINK.netfilter);
  return {
    present: () => {
      const found = ask(
        socket,
        MESSAGE.getTable,
        NFPROTO_INET,
        textAttribute(TABLE_NAME_ATTRIBUTE, TABLE_NAME),
      );
      return found !== null;
    },
    generation: () => {
      const payload = ask(socket, MESSAGE.getGeneration, 0);
      const id = payload === null ? undefined : attributesOf(payload, 4).get(GENERATION_ID);
      if (id === undefined) throw new DriverError('unavailable', 'the ruleset has no generation');
      return id.readUInt32BE(0);
    },
    close: () => socket.close(),
  };
}

/** The payload of the one answer; null: there is no such thing. */
function ask(
  socket: NetlinkSocket,
  type: number,
  family: number,
  ...attributes: Uint8Array[]
): Buffer | null {
  try {
    const sequence = socket.nextSequence();
    socket.send(
      encodeMessage(type, FLAG.request, sequence, netfilterHeader(family), ...attributes),
    );
    const answer = socket.drain().find((message) => message.sequence === sequence);
    if (answer === undefined) throw new Error('the kernel does not answer');
    if (answer.error === null) return answer.payload;
    const failure = new SystemError('ask nf_tables', answer.error);
    if (failure.code === 'ENOENT') return null;
    throw failure;
  } catch (cause) {
    throw new DriverError('unavailable', 'nf_tables could not be asked', [], { cause });
  }
}
