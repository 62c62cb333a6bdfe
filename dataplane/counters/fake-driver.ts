import { vectorOf, VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import { formatAddress, type Address } from '@portcullis/core/net/address.ts';
import { cidrOfAddress, containsAddress, type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { createRecord, type FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { ETHERNET, readPacket } from '@portcullis/core/net/packet-header.ts';
import type {
  Counted,
  CounterChange,
  CounterDriver,
  CounterReading,
  CounterCapacity,
  ReportThreshold,
  Suspect,
} from './driver.ts';
import { byName, isAddress } from './networks.ts';

const DEFAULT_CAPACITY: CounterCapacity = { followed: 16, networks: 8, vectors: 4 };
/** The fewest packets of a suspect. */
const MIN_SUSPECT_PACKETS = 8;

interface Sums {
  packets: number;
  bytes: number;
  dataPackets: number;
  dataBytes: number;
  readonly vectors: Map<number, { packets: number; bytes: number }>;
}

/** A fake kernel for tests. It counts the frames passed to `count`. */
export class FakeCounterDriver implements CounterDriver {
  readonly capacity: CounterCapacity;
  #networks: ReadonlyMap<string, Cidr> = new Map();
  /** Networks and followed addresses. */
  readonly #withVectors = new Set<string>();
  readonly #followed = new Set<string>();
  #thresholdOf: (address: string) => ReportThreshold = () => ({ packets: 0, bytes: 0 });
  #sums = new Map<string, Sums>();
  #dropped = new Map<string, Sums>();
  #suspects = new Map<string, { packets: number; bytes: number }>();

  constructor(capacity: CounterCapacity = DEFAULT_CAPACITY) {
    this.capacity = capacity;
  }

  async watch(
    networks: readonly Cidr[],
    leastOf: (address: string) => ReportThreshold,
  ): Promise<void> {
    this.#networks = byName(networks);
    this.#thresholdOf = leastOf;
    for (const name of this.#followed)
      if (this.#networkNamesOf(addressOf(name)) === null) this.#unfollow(name);
    for (const name of this.#withVectors) {
      if (!this.#followed.has(name) && !this.#networks.has(name)) this.#withVectors.delete(name);
    }
  }

  async change({ stopVectors, unfollow, follow, startVectors }: CounterChange): Promise<void> {
    for (const name of stopVectors) this.#withVectors.delete(name);
    for (const name of unfollow) this.#unfollow(name);
    for (const name of follow) {
      if (this.#followed.size === this.capacity.followed) break;
      if (this.#networkNamesOf(addressOf(name)) !== null) this.#followed.add(name);
    }
    for (const name of startVectors) {
      if (this.#withVectors.size === this.capacity.vectors) break;
      if (this.#followed.has(name) || this.#networks.has(name)) this.#withVectors.add(name);
    }
  }

  async read(): Promise<CounterReading> {
    const sums = this.#sums;
    const dropped = this.#dropped;
    const suspects: Suspect[] = [...this.#suspects]
      .filter(([, { packets }]) => packets >= MIN_SUSPECT_PACKETS)
      .map(([address, amounts]) => ({ address, ...amounts }));
    this.#sums = new Map();
    this.#dropped = new Map();
    this.#suspects = new Map();
    const names = new Set([...sums.keys(), ...dropped.keys()]);
    const all = [...names].map((name) => countedOf(name, sums.get(name), dropped.get(name)));
    const isNetwork = ({ subject }: Counted) => subject.includes('/');
    return {
      addresses: all.filter((one) => !isNetwork(one) && this.#isReported(one)),
      networks: all.filter(isNetwork),
      suspects,
      samples: [],
    };
  }

  /** `byAddress`: a rule of the destination address dropped the frame. */
  count(frame: Uint8Array, byAddress = false): void {
    const record = createRecord();
    if (!readPacket(frame, 0, frame.length, ETHERNET, frame.length, record)) return;
    const destination = destinationOf(record);
    const networks = this.#networkNamesOf(destination);
    if (networks === null) return;
    const address = formatAddress(destination);
    const { protocol, sourcePort, tcpFlags, part, bytes } = record;
    const vector = vectorOf(protocol, sourcePort, tcpFlags, part, bytes);
    const subjects = [...(this.#followed.has(address) ? [address] : []), ...networks];
    if (byAddress) this.#add(this.#dropped, address, bytes, null);
    else if (this.#followed.has(address)) this.#add(this.#sums, address, bytes, vector);
    for (const network of networks)
      this.#add(this.#sums, network, bytes, byAddress ? null : vector);
    if (!byAddress && !this.#followed.has(address)) this.#suspect(address, bytes);
    for (const subject of subjects) {
      if (this.#withVectors.has(subject)) this.#countVector(subject, vector, bytes);
    }
  }

  #isReported({ subject, packets, bytes }: Counted): boolean {
    const least = this.#thresholdOf(subject);
    return this.#withVectors.has(subject) || packets >= least.packets || bytes >= least.bytes;
  }

  #unfollow(name: string): void {
    this.#followed.delete(name);
    this.#withVectors.delete(name);
  }

  /**
   * Returns null if the address is not watched. Otherwise the name of the longest network that contains it, if any.
   */
  #networkNamesOf(address: Address): readonly string[] | null {
    const containing = [...this.#networks].filter(([, network]) =>
      containsAddress(network, address),
    );
    if (containing.length === 0) return null;
    return containing
      .filter(([, network]) => !isAddress(network))
      .toSorted(([, a], [, b]) => b.length - a.length)
      .slice(0, 1)
      .map(([name]) => name);
  }

  #add(into: Map<string, Sums>, subject: string, bytes: number, vector: number | null): void {
    const sums = into.get(subject) ?? emptySums();
    into.set(subject, sums);
    sums.packets++;
    sums.bytes += bytes;
    if (vector !== VECTOR_INDEX.tcp_data) return;
    sums.dataPackets++;
    sums.dataBytes += bytes;
  }

  #countVector(subject: string, vector: number, bytes: number): void {
    const sums = this.#sums.get(subject) ?? emptySums();
    this.#sums.set(subject, sums);
    const count = sums.vectors.get(vector) ?? { packets: 0, bytes: 0 };
    sums.vectors.set(vector, { packets: count.packets + 1, bytes: count.bytes + bytes });
  }

  #suspect(address: string, bytes: number): void {
    const before = this.#suspects.get(address) ?? { packets: 0, bytes: 0 };
    this.#suspects.set(address, { packets: before.packets + 1, bytes: before.bytes + bytes });
  }
}

function emptySums(): Sums {
  return { packets: 0, bytes: 0, dataPackets: 0, dataBytes: 0, vectors: new Map() };
}

function countedOf(subject: string, sums = emptySums(), dropped = emptySums()): Counted {
  return {
    subject,
    packets: sums.packets + dropped.packets,
    bytes: sums.bytes + dropped.bytes,
    dataPackets: sums.dataPackets,
    dataBytes: sums.dataBytes,
    receiptPackets: 0,
    vectors: [...sums.vectors]
      .map(([vector, amounts]) => ({ vector, ...amounts }))
      .toSorted((a, b) => a.vector - b.vector),
  };
}

function addressOf(name: string): Cidr {
  const parsed = parseCidr(name);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
}

function destinationOf({ family, destination }: FlowRecord): Cidr {
  const words = family === 4 ? destination.subarray(3) : destination;
  const value = words.reduce((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return cidrOfAddress({ family, value });
}
