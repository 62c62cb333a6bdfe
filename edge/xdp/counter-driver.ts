import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type {
  Counted,
  CounterChange,
  CounterDriver,
  CounterReading,
  CounterRoom,
} from '../counters/driver.ts';
import { byName, isAddress } from '../counters/networks.ts';
import { CELL_FIELDS, CLASS_FIELDS, type CounterMaps, type Watched } from './counter-maps.ts';
import { LAYOUT } from './layout.ts';
import { readSuspects } from './suspects.ts';

export const ROOM: CounterRoom = {
  networks: 2048,
  // Cell 0 is nobody's.
  followed: LAYOUT.CELLS - 1 - 2048,
  told: LAYOUT.CLASSES,
};

/** `bytes` from the IP header on. */
export type TakeDrops = (target: string, packets: number, bytes: number) => void;

/** What rules of single addresses have dropped since it was asked last, and which addresses have such rules. */
export interface AddressDrops {
  read(take: TakeDrops): void;
  addresses(): Iterable<Cidr>;
}

interface Subject {
  readonly subject: string;
  readonly network: Cidr;
  readonly cell: number;
  /** Place in `classes`; null: not told apart. */
  classes: number | null;
}

/** In `struct cell`. */
const [PACKETS, BYTES, DATA_PACKETS, DATA_BYTES, ACKS, SENT] = [0, 1, 2, 3, 4, 5] as const;
const NOTHING = new Float64Array(CELL_FIELDS);

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
  readonly #freeCells: number[] = [];
  #cells = 1;
  readonly #freeClasses: number[] = [];
  #classes = 0;
  readonly #lastCells = new Float64Array(LAYOUT.CELLS * CELL_FIELDS);
  readonly #lastClasses = new Float64Array(LAYOUT.CLASSES * CLASS_FIELDS);

  constructor(maps: CounterMaps, drops: AddressDrops) {
    this.#maps = maps;
    this.#drops = drops;
  }

  async watch(networks: readonly Cidr[]): Promise<void> {
    this.#mustBeOpen();
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
      const one = { subject, network, cell: this.#takeCell(), classes: null };
      this.#networks.set(subject, one);
      made.push(one);
    }
    this.#own(made);
    this.#around = new NearestScope(this.#networks);
    this.#inside = new NearestScope([...next.keys()].map((name) => [name, true] as const));
    this.#writeAround(next);
    this.#watched = next;
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
      const one = { subject, network, cell: this.#takeCell(), classes: null };
      this.#followed.set(subject, one);
      made.push(one);
    }
    this.#own(made);
    this.#maps.follow(made.map((one) => [one.network, this.#watchedBy(one)]));
    const told = tell.flatMap((name) => this.#subject(name) ?? []);
    this.#tell(told.filter(({ classes }) => classes === null));
    if (hush.length + forget.length + tell.length > 0) this.#tellDrops();
  }

  async read(): Promise<CounterReading> {
    this.#mustBeOpen();
    const amounts = this.#cellAmounts();
    const dropped = this.#dropped();
    const vectors = this.#vectors();
    const addresses: Counted[] = [];
    const networks: Counted[] = [];
    const count = (subject: Subject): Counted => {
      const amount = amounts.get(subject.cell) ?? NOTHING;
      return counted(subject.subject, amount, dropped.get(subject.subject), vectors.get(subject));
    };
    for (const subject of this.#followed.values()) {
      if (amounts.has(subject.cell) || dropped.has(subject.subject)) addresses.push(count(subject));
    }
    for (const [name, drops] of dropped) {
      if (!this.#followed.has(name)) addresses.push(counted(name, NOTHING, drops, undefined));
    }
    for (const subject of this.#networks.values()) {
      if (amounts.has(subject.cell) || vectors.has(subject)) networks.push(count(subject));
    }
    const suspects = readSuspects(this.#maps.suspects, process.hrtime.bigint()).filter(
      ({ address }) => !this.#followed.has(address),
    );
    return { addresses, networks, suspects };
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
    this.#maps.forget(subject.network);
    this.#release(subject);
  }

  #release(subject: Subject): void {
    this.#hush(subject);
    this.#owners[subject.cell] = undefined;
    this.#freeCells.push(subject.cell);
  }

  #hush(subject: Subject | undefined): void {
    if (subject === undefined || subject.classes === null) return;
    this.#maps.setClasses(subject.cell, null);
    this.#freeClasses.push(subject.classes);
    subject.classes = null;
  }

  #tell(subjects: readonly Subject[]): void {
    const given: Subject[] = [];
    for (const subject of subjects) {
      const place = this.#freeClasses.pop() ?? (this.#classes < ROOM.told ? this.#classes++ : null);
      if (place === null) break;
      subject.classes = place;
      given.push(subject);
    }
    // What an earlier owner of the place got is not this one's.
    const sums = this.#maps.classes.read(0, given.length === 0 ? 0 : this.#classes);
    for (const { cell, classes } of given) {
      if (classes === null) continue;
      const at = classes * CLASS_FIELDS;
      this.#lastClasses.set(sums.subarray(at, at + CLASS_FIELDS), at);
      this.#maps.setClasses(cell, classes);
    }
  }

  /** The short way tells apart what it drops of told addresses, and of all in told networks. */
  #tellDrops(): void {
    const addresses = [...this.#followed.values()].filter(({ classes }) => classes !== null);
    const networks = [...this.#networks.values()].filter(({ classes }) => classes !== null);
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

  /** What cells got since they were read last, by cell; those that got something. */
  #cellAmounts(): Map<number, Float64Array> {
    const amounts = new Map<number, Float64Array>();
    const sums = this.#maps.cells.read(0, this.#cells);
    const last = this.#lastCells;
    for (let cell = 1; cell < this.#cells; cell++) {
      const at = cell * CELL_FIELDS;
      if (sums[at] === last[at] && sums[at + SENT] === last[at + SENT]) continue;
      const amount = new Float64Array(CELL_FIELDS);
      for (let field = 0; field < CELL_FIELDS; field++) {
        amount[field] = (sums[at + field] as number) - (last[at + field] as number);
      }
      last.set(sums.subarray(at, at + CELL_FIELDS), at);
      if (this.#owners[cell] !== undefined) amounts.set(cell, amount);
    }
    return amounts;
  }

  #dropped(): Map<string, Drops> {
    const dropped = new Map<string, Drops>();
    this.#drops.read((target, packets, bytes) => {
      // What those of a network drop is in cells.
      if (target.includes('/') || this.#inside.of(target) === null) return;
      const before = dropped.get(target) ?? NO_DROPS;
      dropped.set(target, { packets: before.packets + packets, bytes: before.bytes + bytes });
    });
    return dropped;
  }

  #vectors(): Map<Subject, VectorCount[]> {
    const told = new Map<Subject, VectorCount[]>();
    const sums = this.#maps.classes.read(0, this.#classes);
    for (const subject of this.#owners) {
      if (subject === undefined || subject.classes === null) continue;
      const counts = this.#vectorsOf(subject.classes, sums);
      if (counts.length > 0) told.set(subject, counts);
    }
    return told;
  }

  #vectorsOf(place: number, sums: Float64Array): VectorCount[] {
    const counts: VectorCount[] = [];
    const last = this.#lastClasses;
    for (let vector = 0; vector < LAYOUT.VECTORS; vector++) {
      const at = place * CLASS_FIELDS + vector * 2;
      const packets = (sums[at] as number) - (last[at] as number);
      const bytes = (sums[at + 1] as number) - (last[at + 1] as number);
      last[at] = sums[at] as number;
      last[at + 1] = sums[at + 1] as number;
      if (packets > 0) counts.push({ vector, packets, bytes });
    }
    return counts;
  }
}

interface Drops {
  readonly packets: number;
  readonly bytes: number;
}
const NO_DROPS: Drops = { packets: 0, bytes: 0 };

function counted(
  subject: string,
  amount: Float64Array,
  drops: Drops = NO_DROPS,
  vectors: readonly VectorCount[] = [],
): Counted {
  return {
    subject,
    packets: (amount[PACKETS] as number) + drops.packets,
    bytes: (amount[BYTES] as number) + drops.bytes,
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
