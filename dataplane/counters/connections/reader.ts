import { NETLINK, NetlinkSocket } from '../../kernel/netlink/netlink.ts';
import { SystemError } from '../../kernel/native.ts';
import {
  type Count,
  countOfElement,
  openCounterReader,
} from '../../nftables/elements/counter-reader.ts';
import { dumpElements } from '../../nftables/elements/dump.ts';
import { fieldsOf } from '../../nftables/elements/learned-reader.ts';
import { CONNECTIONS_TABLE_NAME, protocolNumber } from '../../nftables/names.ts';
import { FAMILIES, sourceSet } from './ruleset.ts';

/** The source of a flow that a subject has answered. */
export interface AnsweredSource {
  readonly destination: string;
  readonly source: string;
  /** The number of the IP protocol. */
  readonly protocol: number;
}

/** Reads the counters of the table of connections. Rejects with `SystemError`. */
export interface ConnectionReader {
  /** The counters of a set by its first address. Null if it changed during every attempt; empty without the table. */
  elements(set: string): Promise<ReadonlyMap<string, Count> | null>;
  /** The totals of answered sources that sent in the last seconds; empty without the table. */
  sources(): Promise<readonly (readonly [AnsweredSource, Count])[]>;
  close(): void;
}

/** Reads in the present network namespace of this thread. Throws `SystemError` or `NativeUnavailable`. */
export function openConnectionReader(): ConnectionReader {
  const counters = openCounterReader(CONNECTIONS_TABLE_NAME);
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: 1 << 20 });
  return {
    elements: (set) => counters.elements(set),
    sources: async () => {
      const found: (readonly [AnsweredSource, Count])[] = [];
      for (const { name, types } of FAMILIES.map(sourceSet)) {
        // Elements that are added during the dump may be missing: they are samples.
        await dumpElements(
          socket,
          name,
          (key, attributes) => {
            const [destination, source, protocol] = fieldsOf(key, types) ?? [];
            const count = countOfElement(attributes);
            if (destination === undefined || source === undefined || protocol === undefined) return;
            if (count === undefined) return;
            found.push([{ destination, source, protocol: protocolNumber(protocol) }, count]);
          },
          CONNECTIONS_TABLE_NAME,
        ).catch(ignoreAbsent);
      }
      return found;
    },
    close: () => {
      counters.close();
      socket.close();
    },
  };
}

function ignoreAbsent(error: unknown): void {
  if (!(error instanceof SystemError) || error.code !== 'ENOENT') throw error;
}
