import { VECTOR_INDEX, VECTORS } from '@portcullis/core/attacks/vectors.ts';
import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { Count, NamedCounterReader } from '../../nftables/elements/counter-reader.ts';
import type {
  Counted,
  CounterChange,
  CounterDriver,
  CounterReading,
  CounterCapacity,
  ReportThreshold,
  Suspect,
} from '../driver.ts';
import { byName, isAddress } from '../networks.ts';
import { Deltas, Sum } from './deltas.ts';
import { type Piece, piecesOf } from './pieces.ts';
import {
  counterName,
  rangeOf,
  REMOVE_COUNTERS,
  renderCounters,
  renderFollow,
  renderUnfollow,
  renderStopVectors,
  renderVectorChain,
  renderStartVectors,
  SENTINEL,
} from './ruleset.ts';

export interface NftCountersOptions {
  /** Throws `DriverError` if nft refuses. */
  readonly apply: (text: string) => Promise<void>;
  /** Opens the table of counters in the edge's network namespace. Throws without the rights. */
  readonly open: () => NamedCounterReader;
}

const CAPACITY: CounterCapacity = { followed: 512, networks: 512, vectors: 64 };
/** The payload of most large packets. */
const SEGMENT_BYTES = 1448;
const MIN_SUSPECT_PACKETS = 8;
const MAX_SUSPECTS = 64;
const FAMILIES = [4, 6] as const;
const NONE: ReadonlyMap<string, string> = new Map();

/** Counts in an nftables table of its own, before every hook that drops. */
export class NftCounters implements CounterDriver {
  readonly capacity = CAPACITY;
  readonly #options: NftCountersOptions;
  #reader: NamedCounterReader | null = null;
  #devices: readonly string[] = [];
  /** The table in the kernel differs from the desired one. */
  #isStale = false;
  #networks: ReadonlyMap<string, Cidr> = new Map();
  #pieces: readonly Piece[] = [];
  #families: ReadonlySet<Family> = new Set();
  /** Networks by the first address of their pieces. */
  #networkAt: Readonly<Record<Family, ReadonlyMap<string, string>>> = { 4: NONE, 6: NONE };
  #thresholdOf: (address: string) => ReportThreshold = () => ({ packets: 1, bytes: 1 });
  #containing = new NearestScope<string>([]);
  #watched = new NearestScope<true>([]);
  readonly #followed = new Set<string>();
  /** The slots of subjects with counted vectors. */
  readonly #vectorSlots = new Map<string, number>();
  readonly #freeSlots = Array.from(
    { length: CAPACITY.vectors },
    (_, index) => CAPACITY.vectors - 1 - index,
  );
  /** Slots whose counters exist in the table. */
  #declaredSlots = new Set<number>();
  #deltas = new Deltas();
  /** Counts that `read` has not returned yet. */
  #unread = new Map<string, Sum>();

  constructor(options: NftCountersOptions) {
    this.#options = options;
  }

  /** Sets the devices that packets enter by. Takes effect with the next call. */
  enter(devices: readonly string[]): void {
    if (JSON.stringify(devices) === JSON.stringify(this.#devices)) return;
    this.#devices = [...devices];
    this.#isStale = true;
  }

  async watch(
    networks: readonly Cidr[],
    leastOf: (address: string) => ReportThreshold,
  ): Promise<void> {
    const single = networks.filter(isAddress);
    const several = networks.filter((one) => !isAddress(one)).slice(0, CAPACITY.networks);
    this.#networks = byName([...several, ...single]);
    const all = [...this.#networks];
    this.#thresholdOf = leastOf;
    this.#watched = new NearestScope(all.map(([name]) => [name, true] as const));
    const containing = all.filter(([, network]) => !isAddress(network));
    this.#containing = new NearestScope(containing.map(([name]) => [name, name] as const));
    for (const name of this.#followed) if (this.#watched.of(name) === null) this.#unfollow(name);
    for (const name of this.#vectorSlots.keys()) {
      if (!this.#followed.has(name) && !this.#networks.has(name)) this.#releaseSlot(name);
    }
    await this.#rewrite();
  }

  async change({ stopVectors, unfollow, follow, startVectors }: CounterChange): Promise<void> {
    if (this.#isStale) await this.#rewrite();
    const lines: string[] = [];
    for (const name of [...stopVectors, ...unfollow]) {
      if (this.#vectorSlots.has(name)) lines.push(renderStopVectors(this.#keysOf(name)));
      this.#releaseSlot(name);
    }
    const unfollowed = unfollow.filter((name) => this.#followed.has(name));
    lines.push(renderUnfollow(unfollowed));
    for (const name of unfollowed) this.#unfollow(name);
    const followed: string[] = [];
    for (const name of follow) {
      if (this.#followed.size === CAPACITY.followed) break;
      if (this.#followed.has(name) || this.#watched.of(name) === null) continue;
      this.#followed.add(name);
      followed.push(name);
    }
    lines.push(renderFollow(followed));
    for (const name of startVectors) lines.push(...this.#startVectors(name));
    await this.#apply(lines);
  }

  async read(): Promise<CounterReading> {
    if (this.#networks.size === 0)
      return { addresses: [], networks: [], suspects: [], samples: [] };
    if (this.#isStale) await this.#rewrite();
    const suspects = await this.#collect();
    const unread = this.#unread;
    this.#unread = new Map();
    const addresses: Counted[] = [];
    const networks: Counted[] = [];
    for (const [subject, sum] of unread) {
      if (sum.packets === 0) continue;
      if (subject.includes('/')) {
        networks.push(sum.counted(subject));
        continue;
      }
      const threshold = this.#thresholdOf(subject);
      const isEnough = sum.packets >= threshold.packets || sum.bytes >= threshold.bytes;
      if (isEnough || this.#vectorSlots.has(subject)) addresses.push(sum.counted(subject));
    }
    return { addresses, networks, suspects, samples: [] };
  }

  /** Removes the table of an earlier agent. */
  async discard(): Promise<void> {
    await this.#options.apply(REMOVE_COUNTERS);
  }

  #unfollow(name: string): void {
    this.#followed.delete(name);
    this.#deltas.forget(`addresses ${name}`);
    this.#deltas.forget(`sent ${name}`);
    this.#releaseSlot(name);
  }

  #releaseSlot(name: string): void {
    const slot = this.#vectorSlots.get(name);
    if (slot === undefined) return;
    this.#vectorSlots.delete(name);
    this.#freeSlots.push(slot);
  }

  #startVectors(name: string): string[] {
    if (this.#vectorSlots.has(name)) return [];
    if (!this.#followed.has(name) && !this.#networks.has(name)) return [];
    const slot = this.#freeSlots.pop();
    if (slot === undefined) return [];
    this.#vectorSlots.set(name, slot);
    const isNew = !this.#declaredSlots.has(slot);
    this.#declaredSlots.add(slot);
    return [
      ...(isNew ? [renderVectorChain(slot)] : []),
      renderStartVectors(slot, this.#keysOf(name)),
    ];
  }

  /** The keys of a subject in the maps of counted vectors. */
  #keysOf(name: string): string[] {
    const network = this.#networks.get(name);
    if (network === undefined || isAddress(network)) return [name];
    return this.#pieces.filter((piece) => piece.network === name).map(rangeOf);
  }

  async #apply(lines: readonly string[]): Promise<void> {
    const text = lines.filter((line) => line !== '').join('\n');
    if (text === '' || !this.#isCounting) return;
    try {
      await this.#options.apply(`${text}\n`);
    } catch (error) {
      // The state of the table is unknown after a failure.
      this.#isStale = true;
      throw error;
    }
  }

  get #isCounting(): boolean {
    return this.#devices.length > 0 && this.#networks.size > 0;
  }

  /** Replaces the whole table. Counts read before are kept. */
  async #rewrite(): Promise<void> {
    if (this.#reader !== null && !this.#isStale) await this.#collect();
    this.#isStale = true;
    const all = [...this.#networks.values()];
    this.#pieces = FAMILIES.flatMap((family) => piecesOf(all, family));
    this.#families = new Set(this.#pieces.map(({ family }) => family));
    this.#networkAt = { 4: networksAt(this.#pieces, 4), 6: networksAt(this.#pieces, 6) };
    const text = this.#isCounting ? renderCounters(this.#layout()) : null;
    await this.#options.apply(text ?? REMOVE_COUNTERS);
    this.#isStale = false;
    this.#declaredSlots = new Set(this.#vectorSlots.values());
    this.#deltas = new Deltas();
    this.#reader ??= this.#options.open();
  }

  #layout() {
    return {
      devices: this.#devices,
      pieces: this.#pieces,
      followed: [...this.#followed],
      vectorSlots: [...this.#vectorSlots].map(
        ([name, slot]) => [slot, this.#keysOf(name)] as const,
      ),
    };
  }

  async #collect(): Promise<Suspect[]> {
    const reader = this.#reader;
    if (reader === null || !this.#isCounting) return [];
    const named = await reader.named();
    if (named !== null && !named.has(SENTINEL)) {
      // Another program flushed the table.
      this.#isStale = true;
      await this.#rewrite();
      return [];
    }
    const suspects: Suspect[] = [];
    for (const family of FAMILIES) {
      if (!this.#families.has(family)) continue;
      await this.#collectNetworks(reader, family);
      await this.#collectAddresses(reader, family);
      suspects.push(...(await this.#collectSeen(reader, family)));
    }
    this.#addVectors(named ?? new Map());
    return suspects.toSorted((a, b) => b.packets - a.packets).slice(0, MAX_SUSPECTS);
  }

  async #collectNetworks(reader: NamedCounterReader, family: 4 | 6): Promise<void> {
    const counts = await reader.elements(`networks${family}`);
    for (const [first, count] of counts ?? []) {
      const delta = this.#deltas.step(`networks ${first}`, count);
      const network = this.#networkAt[family].get(first) ?? null;
      if (network !== null && delta !== null) this.#add(network, delta);
    }
  }

  async #collectAddresses(reader: NamedCounterReader, family: 4 | 6): Promise<void> {
    for (const [address, count] of (await reader.elements(`addresses${family}`)) ?? []) {
      const delta = this.#deltas.step(`addresses ${address}`, count);
      if (delta !== null && this.#followed.has(address)) this.#add(address, delta);
    }
    for (const [address, count] of (await reader.elements(`sent${family}`)) ?? []) {
      const delta = this.#deltas.step(`sent ${address}`, count);
      if (delta === null || !this.#followed.has(address)) continue;
      // A large buffer may be sent as several packets.
      const sent = Math.max(delta.packets, Math.floor(delta.bytes / SEGMENT_BYTES));
      for (const name of [address, this.#containing.of(address)]) {
        if (name !== null) this.#sum(name).sentPackets += sent;
      }
    }
  }

  async #collectSeen(reader: NamedCounterReader, family: 4 | 6): Promise<Suspect[]> {
    const counts: ReadonlyMap<string, Count> =
      (await reader.elements(`seen${family}`)) ?? new Map();
    return this.#deltas
      .stepAll(family, counts)
      .filter(
        ([address, { packets }]) => packets >= MIN_SUSPECT_PACKETS && !this.#followed.has(address),
      )
      .map(([address, count]) => ({ address, ...count }));
  }

  #addVectors(named: ReadonlyMap<string, Count>): void {
    const names = new Map([...this.#vectorSlots].map(([name, slot]) => [slot, name]));
    for (const slot of this.#declaredSlots) {
      const name = names.get(slot);
      for (const vector of VECTORS) {
        const counter = counterName(slot, vector);
        const count = named.get(counter);
        const delta = count === undefined ? null : this.#deltas.step(counter, count);
        if (delta === null || name === undefined) continue;
        this.#sum(name).addVector(VECTOR_INDEX[vector], delta);
      }
    }
  }

  #add(subject: string, count: Count): void {
    this.#sum(subject).add(count);
  }

  #sum(subject: string): Sum {
    const known = this.#unread.get(subject);
    if (known !== undefined) return known;
    const made = new Sum();
    this.#unread.set(subject, made);
    return made;
  }
}

function networksAt(pieces: readonly Piece[], family: Family): Map<string, string> {
  const own = pieces.filter((piece) => piece.family === family);
  return new Map(
    own.flatMap(({ first, network }) =>
      network === null ? [] : [[formatAddress({ family, value: first }), network] as const],
    ),
  );
}
