import { NETLINK, NetlinkSocket } from '../kernel/netlink/netlink.ts';
import {
  attributesOf,
  encodeMessage,
  FLAG,
  netfilterHeader,
  textAttribute,
} from '../kernel/netlink/netlink-message.ts';
import { SystemError } from '../kernel/native.ts';
import { DriverError, type MapChange } from './driver.ts';
import { encodeChanges } from './elements/exchange.ts';
import { TABLE_NAME } from './names.ts';

/** Source of the constants: include/uapi/linux/netfilter/nf_tables.h. */
const SUBSYSTEM = 10 << 8;
const MESSAGE = {
  getTable: SUBSYSTEM | 1,
  newGeneration: SUBSYSTEM | 15,
  getGeneration: SUBSYSTEM | 16,
} as const;
const TABLE_NAME_ATTRIBUTE = 1;
const GENERATION_ID = 1;
/** The socket buffer. It must hold a batch, and the errors of all its messages. */
const BUFFER_BYTES = 32 << 20;
const NFPROTO_INET = 1;

/** Requests to nf_tables that read no contents. Each takes microseconds, whatever the size of the table. */
export interface Ruleset {
  present(): boolean;
  /** The generation of the ruleset, which every transaction increments. */
  generation(): number;
  /**
   * Submits one transaction. Resolves to false, without effect, if the change requires nft. Rejects with `DriverError`,
   * `refused` if the kernel rejects it.
   */
  change(changes: readonly MapChange[]): Promise<boolean>;
  close(): void;
}

/** Throws `NativeUnavailable` or `SystemError`. The methods throw `DriverError`. */
export function openRuleset(): Ruleset {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: BUFFER_BYTES });
  return {
    present: () => {
      const found = request(
        socket,
        MESSAGE.getTable,
        NFPROTO_INET,
        textAttribute(TABLE_NAME_ATTRIBUTE, TABLE_NAME),
      );
      return found !== null;
    },
    generation: () => {
      const payload = request(socket, MESSAGE.getGeneration, 0);
      const id = payload === null ? undefined : attributesOf(payload, 4).get(GENERATION_ID);
      if (id === undefined) throw new DriverError('unavailable', 'the ruleset has no generation');
      return id.readUInt32BE(0);
    },
    change: async (changes) => {
      const sequence = socket.nextSequence();
      const batch = encodeChanges(changes, sequence);
      if (batch === null) return false;
      await submit(socket, batch, sequence);
      return true;
    },
    close: () => socket.close(),
  };
}

async function submit(socket: NetlinkSocket, batch: Buffer, sequence: number): Promise<void> {
  const answers = await inWords(async () => {
    await socket.sendLarge(batch);
    return socket.drain().filter((message) => message.sequence === sequence);
  });
  const no = answers.find(({ error }) => error !== null && error !== 0);
  if (no !== undefined) {
    const failure = new SystemError('change elements', no.error ?? 0);
    throw new DriverError('refused', REASONS[failure.code] ?? failure.code, [], { cause: failure });
  }
  // The transaction may have been committed: the caller has to check.
  if (answers.length === 0) throw new DriverError('unavailable', 'nf_tables does not answer');
}

/** The messages of nft. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EEXIST: 'File exists',
  ENFILE: 'Too many open files in system',
  ENOMEM: 'Cannot allocate memory',
  EPERM: 'Operation not permitted',
};

/** The payload of the single answer; null if the object does not exist. */
function request(
  socket: NetlinkSocket,
  type: number,
  family: number,
  ...attributes: Uint8Array[]
): Buffer | null {
  const sequence = socket.nextSequence();
  const header = netfilterHeader(family);
  try {
    socket.send(encodeMessage(type, FLAG.request, sequence, header, ...attributes));
    const answer = socket.drain().find((message) => message.sequence === sequence);
    if (answer === undefined) throw new Error('the kernel does not answer');
    if (answer.error === null) return answer.payload;
    const failure = new SystemError('query nf_tables', answer.error);
    if (failure.code === 'ENOENT') return null;
    throw failure;
  } catch (cause) {
    throw unavailable(cause);
  }
}

async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw unavailable(cause);
  }
}

function unavailable(cause: unknown): DriverError {
  return new DriverError('unavailable', 'nf_tables could not be queried', [], { cause });
}
