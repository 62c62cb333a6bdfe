import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { SystemError } from '../kernel/native.ts';
import { NETLINK, NetlinkSocket } from '../kernel/netlink.ts';
import { addressText, dumpElements } from './element-dump.ts';
import { type FilterState, stateSet } from './filter-state.ts';
import type { Learnt } from './kept-state.ts';

/** What filters have learnt, from the kernel itself: nft takes seconds for what this takes a tenth of. */
export interface LearntReader {
  /** Null: there is no such set (now). Rejects with `SystemError`. */
  read(state: FilterState, family: Family): Promise<Learnt[] | null>;
  close(): void;
}

/** Milliseconds, in network order. */
const EXPIRATION = 5;
const PORT_BYTES = 4;

/** Reads in the network namespace that this thread is in now. Throws `SystemError` or `NativeUnavailable`. */
export function openLearntReader(): LearntReader {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: 1 << 20 });
  return {
    read: async (state, family) => {
      const set = stateSet(state, family);
      const found: Learnt[] = [];
      try {
        // Who comes or goes meanwhile may be among them or not.
        await dumpElements(socket, set, (key, attributes) => {
          const fields = tupleOf(key, family);
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

/** Client address and port, server address and port, each padded to 4 bytes; null: it is another key. */
function tupleOf(key: Buffer, family: Family): string[] | null {
  const address = BITS[family] / 8;
  if (key.length !== 2 * (address + PORT_BYTES)) return null;
  return [0, address + PORT_BYTES].flatMap((at) => [
    addressText(key.subarray(at, at + address)),
    String(key.readUInt16BE(at + address)),
  ]);
}
