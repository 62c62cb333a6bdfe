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
  CounterRoom,
  Least,
  Suspect,
} from './driver.ts';
import { byName, isAddress } from './networks.ts';

const DEFAULT_ROOM: CounterRoom = { followed: 16, networks: 8, told: 4 };
/** Fewer packets make nobody suspect. */
const LEAST_SUSPECT = 8;

interface Tally {
  packets: number;
  bytes: number;
  dataPackets: number;
  dataBytes: number;
  readonly vectors: Map<number, { packets: number; bytes: number }>;
}

/** Stands for the kernel in tests: counts the frames that it is shown. */
export class FakeCounterDriver implements CounterDriver {
  readonly room: CounterRoom;
  #networks: ReadonlyMap<string, Cidr> = new Map();
  /** Of networks and followed addresses. */
  readonly #told = new Set<string>();
  readonly #followed = new Set<string>();
  #leastOf: (address: string) => Least = () => ({ packets: 0, bytes: 0 });
  #tallies = new Map<string, Tally>();
  #dropped = new Map<string, Tally>();
  #suspects = new Map<string, { packets: number; bytes: number }>();

  constructor(room: CounterRoom = DEFAULT_ROOM) {
    this.room = room;
  }

  async watch(networks: readonly Cidr[], leastOf: (address: string) => Least): Promise<void> {
    this.#networks = byName(networks);
    this.#leastOf = leastOf;
    for (const name of this.#followed)
      if (this.#around(addressOf(name)) === null) this.#forget(name);
    for (const name of this.#told) {
      if (!this.#followed.has(name) && !this.#networks.has(name)) this.#told.delete(name);
    }
  }

  async change({ hush, forget, follow, tell }: CounterChange): Promise<void> {
    for (const name of hush) this.#told.delete(name);
    for (const name of forget) this.#forget(name);
    for (const name of follow) {
      if (this.#followed.size === this.room.followed) break;
      if (this.#around(addressOf(name)) !== null) this.#followed.add(name);
    }
    for (const name of tell) {
      if (this.#told.size === this.room.told) break;
      if (this.#followed.has(name) || this.#networks.has(name)) this.#told.add(name);
    }
  }

  async read(): Promise<CounterReading> {
    const tallies = this.#tallies;
    const dropped = this.#dropped;
    const suspects: Suspect[] = [...this.#suspects]
      .filter(([, { packets }]) => packets >= LEAST_SUSPECT)
      .map(([address, amounts]) => ({ address, ...amounts }));
    this.#tallies = new Map();
    this.#dropped = new Map();
    this.#suspects = new Map();
    const names = new Set([...tallies.keys(), ...dropped.keys()]);
    const all = [...names].map((name) => countedOf(name, tallies.get(name), dropped.get(name)));
    const isNetwork = ({ subject }: Counted) => subject.includes('/');
    return {
      addresses: all.filter((one) => !isNetwork(one) && this.#isTold(one)),
      networks: all.filter(isNetwork),
      suspects,
      samples: [],
    };
  }

  /** A frame came; `byAddress`: rules of its destination alone dropped it. */
  count(frame: Uint8Array, byAddress = false): void {
    const record = createRecord();
    if (!readPacket(frame, 0, frame.length, ETHERNET, frame.length, record)) return;
    const destination = destinationOf(record);
    const around = this.#around(destination);
    if (around === null) return;
    const address = formatAddress(destination);
    const { protocol, sourcePort, tcpFlags, part, bytes } = record;
    const vector = vectorOf(protocol, sourcePort, tcpFlags, part, bytes);
    const subjects = [...(this.#followed.has(address) ? [address] : []), ...around];
    if (byAddress) this.#add(this.#dropped, address, bytes, null);
    else if (this.#followed.has(address)) this.#add(this.#tallies, address, bytes, vector);
    for (const network of around)
      this.#add(this.#tallies, network, bytes, byAddress ? null : vector);
    if (!byAddress && !this.#followed.has(address)) this.#suspect(address, bytes);
    for (const subject of subjects) {
      if (this.#told.has(subject)) this.#tell(subject, vector, bytes);
    }
  }

  #isTold({ subject, packets, bytes }: Counted): boolean {
    const least = this.#leastOf(subject);
    return this.#told.has(subject) || packets >= least.packets || bytes >= least.bytes;
  }

  #forget(name: string): void {
    this.#followed.delete(name);
    this.#told.delete(name);
  }

  /** Null: it is not watched; empty: alone. Else the name of the longest network around it. */
  #around(address: Address): readonly string[] | null {
    const around = [...this.#networks].filter(([, network]) => containsAddress(network, address));
    if (around.length === 0) return null;
    return around
      .filter(([, network]) => !isAddress(network))
      .toSorted(([, a], [, b]) => b.length - a.length)
      .slice(0, 1)
      .map(([name]) => name);
  }

  #add(into: Map<string, Tally>, subject: string, bytes: number, vector: number | null): void {
    const tally = into.get(subject) ?? emptyTally();
    into.set(subject, tally);
    tally.packets++;
    tally.bytes += bytes;
    if (vector !== VECTOR_INDEX.tcp_data) return;
    tally.dataPackets++;
    tally.dataBytes += bytes;
  }

  #tell(subject: string, vector: number, bytes: number): void {
    const tally = this.#tallies.get(subject) ?? emptyTally();
    this.#tallies.set(subject, tally);
    const count = tally.vectors.get(vector) ?? { packets: 0, bytes: 0 };
    tally.vectors.set(vector, { packets: count.packets + 1, bytes: count.bytes + bytes });
  }

  #suspect(address: string, bytes: number): void {
    const before = this.#suspects.get(address) ?? { packets: 0, bytes: 0 };
    this.#suspects.set(address, { packets: before.packets + 1, bytes: before.bytes + bytes });
  }
}

function emptyTally(): Tally {
  return { packets: 0, bytes: 0, dataPackets: 0, dataBytes: 0, vectors: new Map() };
}

function countedOf(subject: string, tally = emptyTally(), dropped = emptyTally()): Counted {
  return {
    subject,
    packets: tally.packets + dropped.packets,
    bytes: tally.bytes + dropped.bytes,
    dataPackets: tally.dataPackets,
    dataBytes: tally.dataBytes,
    receiptPackets: 0,
    vectors: [...tally.vectors]
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
