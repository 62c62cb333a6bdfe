import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type {
  Counted,
  CounterChange,
  CounterDriver,
  CounterReading,
  CounterCapacity,
  ReportThreshold,
} from '../../counters/driver.ts';
import { byName, isAddress } from '../../counters/networks.ts';
import { VectorSlots } from './vector-slots.ts';
import { CELL_FIELDS, type CounterMaps, type Watched } from './counter-maps.ts';
import { LAYOUT } from '../maps/layout.ts';
import { readSuspects } from './suspects.ts';

export const CAPACITY: CounterCapacity = {
  networks: 2048,
  // Cell 0 is unused.
  followed: LAYOUT.CELLS - 1 - 2048,
  vectors: LAYOUT.CLASSES,
};

/** Drops by rules of single addresses since the last read, and the addresses that have rules. */
export interface AddressDrops {
  read(into: DropReceiver): void;
  addresses(): Iterable<Cidr>;
}

export interface DropReceiver {
  /** When it changes, `cellsOf` returns other results. */
  readonly version: number;
  /** Returns null if the target is not watched. */
  cellsOf(target: string): AddressCells | null;
  /** `bytes` from the IP header on. */
  add(cells: AddressCells, packets: number, bytes: number): void;
}

/** The cells and the threshold of an address. */
export interface AddressCells {
  readonly address: string;
  /** The address's own cell if it is followed, or 0. */
  cell: number;
  /** The cell of the longest network that contains it, or 0. */
  readonly network: number;
  readonly threshold: ReportThreshold;
}
/** With more addresses than these above their threshold, the threshold is doubled, up to 2^MAX_CROWDING times. */
const CROWD = 1_024;
/** The detector ignores an address below this many times the least that is reported. */
const MAX_CROWDING = 3;
const NOT_RESOLVED = { cells: null, cellsVersion: -1 } as const;
const MAX_CACHED_ADDRESSES = 131_072;

interface Subject {
  readonly subject: string;
  readonly network: Cidr;
  readonly isNetwork: boolean;
  readonly cell: number;
  /** The cached `AddressCells` of an address, valid for `cellsVersion`. */
  cells: AddressCells | null;
  cellsVersion: number;
}

/** Fields of `struct cell`. */
const [PACKETS, BYTES, DATA_PACKETS, DATA_BYTES, ACKS, SENT] = [0, 1, 2, 3, 4, 5] as const;
/** Counts in the XDP programs, and adds what their drop counters count by address. */
export class XdpCounters implements CounterDriver {
  readonly capacity = CAPACITY;
  readonly #maps: CounterMaps;
  readonly #drops: AddressDrops;
  readonly #followed = new Map<string, Subject>();
  readonly #networks = new Map<string, Subject>();
  /** Networks that have a cell. */
  #containing = new NearestScope<Subject>([]);
  #watched: ReadonlyMap<string, Cidr> = new Map();
  #isWatched = new NearestScope<true>([]);
  readonly #owners: (Subject | undefined)[] = [];
  #thresholdOf: (address: string) => ReportThreshold = () => ({ packets: 1, bytes: 1 });
  /** A cache by address; null if the address is not watched. */
  readonly #cellsByAddress = new Map<string, AddressCells | null>();
  #cellsVersion = 0;
  /** Counts of each cell since the last read. */
  readonly #added = new Float64Array(LAYOUT.CELLS * CELL_FIELDS);
  readonly #freeCells: number[] = [];
  #cells = 1;
  readonly #lastCells = new Float64Array(LAYOUT.CELLS * CELL_FIELDS);
  readonly #vectorSlots: VectorSlots;
  #crowding = 0;
  /** Addresses above their own threshold in this reading. */
  #busy = 0;

  constructor(maps: CounterMaps, drops: AddressDrops) {
    this.#maps = maps;
    this.#drops = drops;
    this.#vectorSlots = new VectorSlots(maps);
  }

  async watch(
    networks: readonly Cidr[],
    leastOf: (address: string) => ReportThreshold,
  ): Promise<void> {
    this.#mustBeOpen();
    this.#thresholdOf = leastOf;
    const next = byName(networks);
    for (const [name, subject] of this.#networks) {
      if (next.has(name)) continue;
      this.#networks.delete(name);
      this.#release(subject);
    }
    const made: Subject[] = [];
    for (const [subject, network] of next) {
      if (isAddress(network) || this.#networks.has(subject)) continue;
      if (this.#networks.size === CAPACITY.networks) break;
      const one = { subject, network, isNetwork: true, cell: this.#takeCell(), ...NOT_RESOLVED };
      this.#networks.set(subject, one);
      made.push(one);
    }
    this.#assignCells(made);
    this.#containing = new NearestScope(this.#networks);
    this.#isWatched = new NearestScope([...next.keys()].map((name) => [name, true] as const));
    this.#writeNetworks(next);
    this.#watched = next;
    this.#clearCells();
    this.#refollow();
    this.#maps.setWatching(next.size > 0);
    this.#classifyDrops();
  }

  async change({ stopVectors, unfollow, follow, startVectors }: CounterChange): Promise<void> {
    this.#mustBeOpen();
    for (const name of stopVectors) this.#stopVectors(this.#subject(name));
    for (const name of unfollow) this.#unfollow(name);
    const made: Subject[] = [];
    for (const subject of follow) {
      const network = cidrOf(subject);
      if (this.#followed.has(subject) || this.#followed.size === CAPACITY.followed) continue;
      if (network === null || this.#isWatched.of(subject) === null) continue;
      const one = { subject, network, isNetwork: false, cell: this.#takeCell(), ...NOT_RESOLVED };
      this.#followed.set(subject, one);
      const home = this.#cellsByAddress.get(subject) ?? null;
      if (home !== null) home.cell = one.cell;
      made.push(one);
    }
    this.#assignCells(made);
    this.#maps.follow(made.map((one) => [one.network, this.#watchedBy(one)]));
    const subjects = startVectors.flatMap((name) => this.#subject(name) ?? []);
    this.#vectorSlots.start(subjects.map(({ cell }) => cell));
    if (stopVectors.length + unfollow.length + startVectors.length > 0) this.#classifyDrops();
  }

  async read(): Promise<CounterReading> {
    this.#mustBeOpen();
    this.#readCells();
    const dropped = this.#addDrops();
    const vectors = this.#vectorSlots.read();
    const addresses = [...this.#addresses(vectors), ...dropped];
    this.#noteCrowd();
    const networks: Counted[] = [];
    for (const subject of this.#networks.values()) {
      const news = this.#addedTo(subject.cell);
      if ((news[PACKETS] as number) === 0) continue;
      networks.push(counted(subject.subject, news, vectors.get(subject.cell)));
    }
    const suspects = readSuspects(this.#maps.suspects, process.hrtime.bigint()).filter(
      ({ address }) => !this.#followed.has(address) && this.#isWatched.of(address) !== null,
    );
    return { addresses, networks, suspects, samples: this.#maps.samples.read() };
  }

  #mustBeOpen(): void {
    if (this.#maps.closed) throw new Error('the counters of the early drop are closed');
  }

  #subject(name: string): Subject | undefined {
    return this.#followed.get(name) ?? this.#networks.get(name);
  }

  #watchedBy({ subject, cell }: Subject): Watched {
    return { cell, networkCell: this.#networkCellOf(subject) };
  }

  #networkCellOf(subject: string): number {
    return this.#containing.of(subject)?.cell ?? 0;
  }

  #writeNetworks(next: ReadonlyMap<string, Cidr>): void {
    for (const [name, network] of next) {
      this.#maps.setNetwork(network, this.#networkCellOf(name));
    }
    for (const [name, network] of this.#watched) {
      if (!next.has(name)) this.#maps.removeNetwork(network);
    }
  }

  /** Called after the watched networks changed. */
  #refollow(): void {
    for (const name of this.#followed.keys()) {
      if (this.#isWatched.of(name) === null) this.#unfollow(name);
    }
    const left = [...this.#followed.values()];
    this.#maps.follow(left.map((one) => [one.network, this.#watchedBy(one)]));
  }

  #unfollow(name: string): void {
    const subject = this.#followed.get(name);
    if (subject === undefined) return;
    this.#followed.delete(name);
    const home = this.#cellsByAddress.get(name) ?? null;
    if (home !== null) home.cell = 0;
    this.#maps.unfollow(subject.network);
    this.#release(subject);
  }

  #release(subject: Subject): void {
    this.#stopVectors(subject);
    this.#owners[subject.cell] = undefined;
    this.#freeCells.push(subject.cell);
  }

  #stopVectors(subject: Subject | undefined): void {
    if (subject !== undefined) this.#vectorSlots.stop(subject.cell);
  }

  /** The fast path counts vectors of drops only for these addresses, and for all addresses in these networks. */
  #classifyDrops(): void {
    const addresses = [...this.#followed.values()].filter(({ cell }) =>
      this.#vectorSlots.has(cell),
    );
    const networks = [...this.#networks.values()].filter(({ cell }) => this.#vectorSlots.has(cell));
    const inside =
      networks.length === 0
        ? []
        : [...this.#drops.addresses()].filter((address) =>
            networks.some(({ network }) => containsCidr(network, address)),
          );
    this.#maps.setClassified([...addresses.map(({ network }) => network), ...inside]);
  }

  #takeCell(): number {
    return this.#freeCells.pop() ?? this.#cells++;
  }

  /** Sets the baseline, because a previous owner may have used the cell. */
  #assignCells(subjects: readonly Subject[]): void {
    const sums = this.#maps.cells.read(0, subjects.length === 0 ? 0 : this.#cells);
    for (const subject of subjects) {
      const at = subject.cell * CELL_FIELDS;
      this.#lastCells.set(sums.subarray(at, at + CELL_FIELDS), at);
      this.#owners[subject.cell] = subject;
    }
  }

  #addedTo(cell: number): Float64Array {
    return this.#added.subarray(cell * CELL_FIELDS, (cell + 1) * CELL_FIELDS);
  }

  #readCells(): void {
    const end = this.#cells * CELL_FIELDS;
    const sums = this.#maps.cells.read(0, this.#cells);
    const [news, last] = [this.#added, this.#lastCells];
    for (let at = 0; at < end; at++) {
      news[at] = (sums[at] as number) - (last[at] as number);
      last[at] = sums[at] as number;
    }
  }

  /** Adds drops by rules to cells. Returns addresses without a cell that exceed their threshold. */
  #addDrops(): Counted[] {
    const unfollowed: Counted[] = [];
    const news = this.#added;
    this.#drops.read({
      version: this.#cellsVersion,
      // Cells include drops by rules of a prefix already.
      cellsOf: (target) => (target.includes('/') ? null : this.#cellsOf(target)),
      add: (home, packets, bytes) => {
        const at = (home.cell || home.network) * CELL_FIELDS;
        news[at + PACKETS] = (news[at + PACKETS] as number) + packets;
        news[at + BYTES] = (news[at + BYTES] as number) + bytes;
        if (home.cell !== 0 || !this.#isEnough(home, packets, bytes)) return;
        const amount = new Float64Array(CELL_FIELDS);
        amount[PACKETS] = packets;
        amount[BYTES] = bytes;
        unfollowed.push(counted(home.address, amount));
      },
    });
    return unfollowed;
  }

  /** Returns followed addresses that exceed their threshold, and adds their counts to their networks. */
  #addresses(vectors: ReadonlyMap<number, readonly VectorCount[]>): Counted[] {
    const addresses: Counted[] = [];
    const news = this.#added;
    for (let cell = 1; cell < this.#cells; cell++) {
      const owner = this.#owners[cell];
      const at = cell * CELL_FIELDS;
      const packets = news[at + PACKETS] as number;
      if (owner === undefined || owner.isNetwork) continue;
      if (packets === 0 && (news[at + SENT] as number) === 0) continue;
      const home = this.#cellsOfOwner(owner);
      if (home === null) continue;
      const around = home.network * CELL_FIELDS;
      for (let field = 0; field < CELL_FIELDS; field++) {
        news[around + field] = (news[around + field] as number) + (news[at + field] as number);
      }
      const isEnough = this.#isEnough(home, packets, news[at + BYTES] as number);
      if (packets === 0 || (!isEnough && !this.#vectorSlots.has(cell))) continue;
      addresses.push(counted(owner.subject, this.#addedTo(cell), vectors.get(cell)));
    }
    return addresses;
  }

  #isEnough({ threshold }: AddressCells, packets: number, bytes: number): boolean {
    if (packets < threshold.packets && bytes < threshold.bytes) return false;
    this.#busy++;
    const factor = 2 ** this.#crowding;
    return packets >= threshold.packets * factor || bytes >= threshold.bytes * factor;
  }

  /** A flood to thousands of addresses is reported by its networks and by those addresses that get the most. */
  #noteCrowd(): void {
    if (this.#busy > CROWD) this.#crowding = Math.min(MAX_CROWDING, this.#crowding + 1);
    else if (this.#busy < CROWD / 4) this.#crowding = Math.max(0, this.#crowding - 1);
    this.#busy = 0;
  }

  #cellsOfOwner(owner: Subject): AddressCells | null {
    if (owner.cellsVersion !== this.#cellsVersion) {
      owner.cells = this.#cellsOf(owner.subject);
      owner.cellsVersion = this.#cellsVersion;
    }
    return owner.cells;
  }

  #cellsOf(address: string): AddressCells | null {
    const known = this.#cellsByAddress.get(address);
    if (known !== undefined) return known;
    const isWatched = this.#isWatched.of(address) !== null;
    const home = isWatched
      ? {
          address,
          cell: this.#followed.get(address)?.cell ?? 0,
          network: this.#networkCellOf(address),
          threshold: this.#thresholdOf(address),
        }
      : null;
    if (this.#cellsByAddress.size >= MAX_CACHED_ADDRESSES) this.#clearCells();
    this.#cellsByAddress.set(address, home);
    return home;
  }

  #clearCells(): void {
    this.#cellsByAddress.clear();
    this.#cellsVersion++;
  }
}

function counted(
  subject: string,
  amount: Float64Array,
  vectors: readonly VectorCount[] = [],
): Counted {
  return {
    subject,
    packets: amount[PACKETS] as number,
    bytes: amount[BYTES] as number,
    dataPackets: amount[DATA_PACKETS] as number,
    dataBytes: amount[DATA_BYTES] as number,
    // At most one receipt for each large packet that was sent.
    receiptPackets: Math.min(amount[ACKS] as number, amount[SENT] as number),
    vectors,
  };
}

function cidrOf(name: string): Cidr | null {
  const parsed = parseCidr(name);
  return parsed.ok ? parsed.value : null;
}
