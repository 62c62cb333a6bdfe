import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { SystemError } from '../../kernel/native.ts';
import { NETLINK, NetlinkSocket } from '../../kernel/netlink/netlink.ts';
import { addressText, dumpElements } from './dump.ts';
import { type FilterState, stateSet, stateType } from '../filters/state.ts';
import { protocolName } from '../names.ts';

/** An element that packets or the agent added to a set of our table. */
export interface Learned {
  readonly set: string;
  readonly family: Family;
  readonly fields: readonly string[];
  /** On the clock of `performance.now`. */
  readonly expiresAtMs: number;
}

/** Reads learned elements through netlink, ten times as fast as nft. */
export interface LearnedReader {
  /** Resolves null if the set is absent. Rejects with `SystemError`. */
  read(state: FilterState, family: Family): Promise<Learned[] | null>;
  close(): void;
}

/** Milliseconds, in network order. */
const EXPIRATION = 5;
/** The size of a port or protocol field. */
const FIELD_BYTES = 4;

/** Reads in the present network namespace of this thread. Throws `SystemError` or `NativeUnavailable`. */
export function openLearnedReader(): LearnedReader {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: 1 << 20 });
  return {
    read: async (state, family) => {
      const set = stateSet(state, family);
      const types = (stateType(set) ?? '').split(' . ');
      const found: Learned[] = [];
      try {
        // Elements that are added or removed during the dump may be missing or included.
        await dumpElements(socket, set, (key, attributes) => {
          const fields = fieldsOf(key, types);
          const left = attributes.get(EXPIRATION);
          if (fields === null || left?.length !== 8) return;
          const expiresAtMs = performance.now() + Number(left.readBigUInt64BE());
          found.push({ set, family, fields, expiresAtMs });
        });
        return found;
      } catch (error) {
        if (error instanceof SystemError && error.code === 'ENOENT') return null;
        throw error;
      }
    },
    close: () => socket.close(),
  };
}

/** Decodes a key into fields as nft writes them; each is padded to 4 bytes. Returns null if the key has another form. */
export function fieldsOf(key: Buffer, types: readonly string[]): string[] | null {
  const fields: string[] = [];
  let at = 0;
  for (const type of types) {
    const length = type === 'ipv4_addr' ? BITS[4] / 8 : type === 'ipv6_addr' ? BITS[6] / 8 : 0;
    const end = at + (length || FIELD_BYTES);
    if (end > key.length) return null;
    if (length > 0) fields.push(addressText(key.subarray(at, end)));
    else if (type === 'inet_proto') fields.push(protocolName(key.readUInt8(at)));
    else fields.push(String(key.readUInt16BE(at)));
    at = end;
  }
  return at === key.length ? fields : null;
}
