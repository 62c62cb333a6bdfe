import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import { NETLINK, NetlinkSocket } from '../kernel/netlink/netlink.ts';
import { countOfElement } from '../nftables/elements/counter-reader.ts';
import { dumpElements } from '../nftables/elements/dump.ts';
import { fieldsOf } from '../nftables/elements/learned-reader.ts';
import { PASSED_TABLE_NAME, protocolNumber } from '../nftables/names.ts';
import { SAMPLE_SETS, type SampleSet } from './ruleset.ts';

/** Reads the samples of the kernel. */
export interface SampleReader {
  /** Rejects with `SystemError`; `ENOENT` if the table is not there. */
  read(): Promise<PassedSample[]>;
  close(): void;
}

/** Reads in the present network namespace of this thread. Throws `SystemError` or `NativeUnavailable`. */
export function openSampleReader(): SampleReader {
  const socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: 1 << 20 });
  return {
    async read() {
      // Elements that are added during the dump may be missing: they are samples.
      const found: PassedSample[] = [];
      for (const set of SAMPLE_SETS) {
        await dumpElements(
          socket,
          set.name,
          (key, attributes) => {
            const packets = countOfElement(attributes)?.packets ?? 0;
            const sample = packets > 0 ? sampleOf(set, fieldsOf(key, set.types), packets) : null;
            if (sample !== null) found.push(sample);
          },
          PASSED_TABLE_NAME,
        );
      }
      return found;
    },
    close: () => socket.close(),
  };
}

function sampleOf(
  { hasPorts }: SampleSet,
  fields: readonly string[] | null,
  packets: number,
): PassedSample | null {
  const [destination, source, protocol, port] = fields ?? [];
  if (destination === undefined || source === undefined || protocol === undefined) return null;
  const destinationPort = hasPorts ? Number(port) : null;
  return { destination, source, protocol: protocolNumber(protocol), destinationPort, packets };
}
