import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type {
  Counted,
  CounterChange,
  CounterDriver,
  CounterReading,
  CounterRoom,
  Least,
} from '../../counters/driver.ts';
import { byName, isAddress } from '../../counters/networks.ts';
import { ClassPlaces } from './class-slots.ts';
import { CELL_FIELDS, type CounterMaps, type Watched } from './counter-maps.ts';
import { LAYOUT } from '../maps/layout.ts';
import { readSuspects } from './suspects.ts';

export const ROOM: CounterRoom = {
  networks: 2048,
  // Cell 0 is nobody's.
  followed: LAYOUT.CELLS - 1 - 2048,
  told: LAYOUT.CLASSES,
};

/** What rules of single addresses have dropped since it was asked last, and which addresses have such rules. */
export interface AddressDrops {
  read(into: DropTaker): void;
  addresses(): Iterable<Cidr>;
}

export interface DropTaker {
  /** Of another version, homes are others. */
  readonly version: number;
  /** Null: nobody wants to know. */
  homeOf(target: string): Home | null;
  /** `bytes` from the IP header on. */
  take(home: Home, packets: number, bytes: number): void;
}

/** What is known of an address that packets were counted for. */
export interface Home {
  readonly address: string;
  /** Its own cell, while it is followed; 0: it is not. */
  cell: number;
  /** Cell of the network around it; 0: there is none. */
  readonly around: number;
  readonly least: Least;
}
const HOMELESS = { home: null, homeVersion: -1 } as const;
const MOST_HOMES = 131_072;

interface Subject {
  readonly subject: string;
  readonly network: Cidr;
  readonly isNetwork: boolean;
  readonly cell: number;
  /** Of an address: what was asked for last, of this version. */
  home: Home | null;
  homeVersion: number;
}

/** In `struct cell`. */
const [PACKETS, BYTES, DATA_PACKETS, DATA_BYTES, ACKS, SENT] = [0, 1, 2, 3, 4, 5] as const;
/** Counts in the XDP programs, and by what they count anyway of what the rules of an address drop. */
export class XdpCounters implements CounterDriver {
  readonly room = ROOM;
  readonly #maps: CounterMaps;
  readonly #drops: AddressDrops;
  readonly #followed = new Map<string, Subject>();
  readonly #networks = new Map<string, Subject>();
  /** Those that are networks of several addresses, as far as there are cells. */
  #around = new NearestScope<Subject>([]);
  #watched: ReadonlyMap<string, Cidr> = new Map();
  #inside = new NearestScope<true>([]);
  readonly #owners: (Subject | undefined)[] = [];
  #leastOf: (address: string) => Least = () => ({ packets: 1, bytes: 1 });
  /** Of addresses, once they were asked for; null: they are not watched. */
  readonly #homes = new Map<string, Home | null>();
  #homesVersion = 0;
  /** What each cell got in this reading. */
  readonly #news = new Float64Array(LAYOUT.CELLS * CELL_FIELDS);
  readonly #freeCells: number[] = [];
  #cells = 1;
  readonly #lastCells = new Float64Array(LAYOUT.CELLS * CELL_FIELDS);
  readonly #classes: ClassPlaces;

  constructor(maps: CounterMaps, drops: AddressDrops) {
    this.#maps = maps;
    this.#drops = drops;
    this.#classes = new ClassPlaces(maps);
  }

  async watch(networks: readonly Cidr[], leastOf: (address: string) => Least): Promise<void> {
    this.#mustBeOpen();
    this.#leastOf = leastOf;
    const next = byName(networks);
    for (const [name, subject] of this.#networks) {
      if (next.has(name)) continue;
      this.#networks.delete(name);
      this.#release(subject);
    }
    const made: Subject[] = [];
    for (const [subject, network] of next) {
      if (isAddress(network) || this.#networks.has(subject)) continue;
      if (this.#networks.size === ROOM.networks) break;
      const one = { subject, network, isNetwork: true, cell: this.#takeCell(), ...HOMELESS };
      this.#networks.set(subject, one);
      made.push(one);
    }
    this.#own(made);
    this.#around = new NearestScope(this.#networks);
    this.#inside = new NearestScope([...next.keys()].map((name) => [name, true] as const));
    this.#writeAround(next);
    this.#watched = next;
    this.#forgetHomes();
    this.#refollow();
    this.#maps.setWatching(next.size > 0);
    this.#tellDrops();
  }

  async change({ hush, forget, follow, tell }: CounterChange): Promise<void> {
    this.#mustBeOpen();
    for (const name of hush) this.#hush(this.#subject(name));
    for (const name of forget) this.#forget(name);
    const made: Subject[] = [];
    for (const subject of follow) {
      const network = cidrOf(subject);
      if (this.#followed.has(subject) || this.#followed.size === ROOM.followed) continue;
      if (network === null || this.#inside.of(subject) === null) continue;
      const one = { subject, network, isNetwork: false, cell: this.#takeCell(), ...HOMELESS };
      this.#followed.set(subject, one);
      const home = this.#homes.get(subject) ?? null;
      if (home !== null) home.cell = one.cell;
      made.push(one);
    }
    this.#own(made);
    this.#maps.follow(made.map((one) => [one.network, this.#watchedBy(one)]));
    const told = tell.flatMap((name) => this.#subject(name) ?? []);
    this.#classes.tell(told.map(({ cell }) => cell));
    if (hush.length + forget.length + tell.length > 0) this.#tellDrops();
  }

  async read(): Promise<CounterReading> {
    this.#mustBeOpen();
    this.#readCells();
    const dropped = this.#addDrops();
    const vectors = this.#classes.read();
    const addresses = [...this.#addresses(vectors), ...dropped];
    const networks: Counted[] = [];
    for (const subject of this.#networks.values()) {
      const news = this.#newsOf(subject.cell);
      if ((news[PACKETS] as number) === 0) continue;
      networks.push(counted(subject.subject, news, vectors.get(subject.cell)));
    }
    const suspects = readSuspects(this.#maps.suspects, process.hrtime.bigint()).filter(
      ({ address }) => !this.#followed.has(address) && this.#inside.of(address) !== null,
    );
    return { addresses, networks, suspects, samples: this.#maps.samples.read() };
  }

  #mustBeOpen(): void {
    if (this.#maps.closed) throw new Error('the early drop that counts is closed');
  }

  #subject(name: string): Subject | undefined {
    return this.#followed.get(name) ?? this.#networks.get(name);
  }

  #watchedBy({ subject, cell }: Subject): Watched {
    return { cell, around: this.#cellAround(subject) };
  }

  #cellAround(subject: string): number {
    return this.#around.of(subject)?.cell ?? 0;
  }

  #writeAround(next: ReadonlyMap<string, Cidr>): void {
    for (const [name, network] of next) {
      this.#maps.setAround(network, this.#cellAround(name));
    }
    for (const [name, network] of this.#watched) {
      if (!next.has(name)) this.#maps.removeAround(network);
    }
  }

  /** After what is watched has changed. */
  #refollow(): void {
    for (const name of this.#followed.keys()) {
      if (this.#inside.of(name) === null) this.#forget(name);
    }
    const left = [...this.#followed.values()];
    this.#maps.follow(left.map((one) => [one.network, this.#watchedBy(one)]));
  }

  #forget(name: string): void {
    const subject = this.#followed.get(name);
    if (subject === undefined) return;
    this.#followed.delete(name);
    const home = this.#homes.get(name) ?? null;
    if (home !== null) home.cell = 0;
    this.#maps.forget(subject.network);
    this.#release(subject);
  }

  #release(subject: Subject): void {
    this.#hush(subject);
    this.#owners[subject.cell] = undefined;
    this.#freeCells.push(subject.cell);
  }

  #hush(subject: Subject | undefined): void {
    if (subject !== undefined) this.#classes.hush(subject.cell);
  }

  /** The short way tells apart what it drops of told addresses, and of all in told networks. */
  #tellDrops(): void {
    const addresses = [...this.#followed.values()].filter(({ cell }) => this.#classes.has(cell));
    const networks = [...this.#networks.values()].filter(({ cell }) => this.#classes.has(cell));
    const inside =
      networks.length === 0
        ? []
        : [...this.#drops.addresses()].filter((address) =>
            networks.some(({ network }) => containsCidr(network, address)),
          );
    this.#maps.setTold([...addresses.map(({ network }) => network), ...inside]);
  }

  #takeCell(): number {
    return this.#freeCells.pop() ?? this.#cells++;
  }

  /** What an earlier owner of a cell got is not this one's. */
  #own(subjects: readonly Subject[]): void {
    const sums = this.#maps.cells.read(0, subjects.length === 0 ? 0 : this.#cells);
    for (const subject of subjects) {
      const at = subject.cell * CELL_FIELDS;
      this.#lastCells.set(sums.subarray(at, at + CELL_FIELDS), at);
      this.#owners[subject.cell] = subject;
    }
  }

  #newsOf(cell: number): Float64Array {
    return this.#news.subarray(cell * CELL_FIELDS, (cell + 1) * CELL_FIELDS);
  }

  #readCells(): void {
    const end = this.#cells * CELL_FIELDS;
    const sums = this.#maps.cells.read(0, this.#cells);
    const [news, last] = [this.#news, this.#lastCells];
    for (let at = 0; at < end; at++) {
      news[at] = (sums[at] as number) - (last[at] as number);
      last[at] = sums[at] as number;
    }
  }

  /** Adds to cells what rules dropped. Answers addresses without a cell that had much dropped. */
  #addDrops(): Counted[] {
    const alone: Counted[] = [];
    const news = this.#news;
    this.#drops.read({
      version: this.#homesVersion,
      // What rules of a network drop is in cells.
      homeOf: (target) => (target.includes('/') ? null : this.#homeOf(target)),
      take: (home, packets, bytes) => {
        const at = (home.cell || home.around) * CELL_FIELDS;
        news[at + PACKETS] = (news[at + PACKETS] as number) + packets;
        news[at + BYTES] = (news[at + BYTES] as number) + bytes;
        const { least } = home;
        if (home.cell !== 0 || (packets < least.packets && bytes < least.bytes)) return;
        const amount = new Float64Array(CELL_FIELDS);
        amount[PACKETS] = packets;
        amount[BYTES] = bytes;
        alone.push(counted(home.address, amount));
      },
    });
    return alone;
  }

  /** Followed ones that got enough; adds what each got to the network around it. */
  #addresses(vectors: ReadonlyMap<number, readonly VectorCount[]>): Counted[] {
    const addresses: Counted[] = [];
    const news = this.#news;
    for (let cell = 1; cell < this.#cells; cell++) {
      const owner = this.#owners[cell];
      const at = cell * CELL_FIELDS;
      const packets = news[at + PACKETS] as number;
      if (owner === undefined || owner.isNetwork) continue;
      if (packets === 0 && (news[at + SENT] as number) === 0) continue;
      const home = this.#homeOfOwner(owner);
      if (home === null) continue;
      const around = home.around * CELL_FIELDS;
      for (let field = 0; field < CELL_FIELDS; field++) {
        news[around + field] = (news[around + field] as number) + (news[at + field] as number);
      }
      const { least } = home;
      const isEnough = packets >= least.packets || (news[at + BYTES] as number) >= least.bytes;
      if (packets === 0 || (!isEnough && !this.#classes.has(cell))) continue;
      addresses.push(counted(owner.subject, this.#newsOf(cell), vectors.get(cell)));
    }
    return addresses;
  }

  #homeOfOwner(owner: Subject): Home | null {
    if (owner.homeVersion !== this.#homesVersion) {
      owner.home = this.#homeOf(owner.subject);
      owner.homeVersion = this.#homesVersion;
    }
    return owner.home;
  }

  #homeOf(address: string): Home | null {
    const known = this.#homes.get(address);
    if (known !== undefined) return known;
    const isWatched = this.#inside.of(address) !== null;
    const home = isWatched
      ? {
          address,
          cell: this.#followed.get(address)?.cell ?? 0,
          around: this.#cellAround(address),
          least: this.#leastOf(address),
        }
      : null;
    if (this.#homes.size >= MOST_HOMES) this.#forgetHomes();
    this.#homes.set(address, home);
    return home;
  }

  #forgetHomes(): void {
    this.#homes.clear();
    this.#homesVersion++;
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
    // At most one for each large packet that left.
    receiptPackets: Math.min(amount[ACKS] as number, amount[SENT] as number),
    vectors,
  };
}

function cidrOf(name: string): Cidr | null {
  const parsed = parseCidr(name);
  return parsed.ok ? parsed.value : null;
}
