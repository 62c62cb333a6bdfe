import { BUCKET_MS, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { type Cidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import {
  updatePriorities,
  type Priorities,
  FOLLOW_SHARE,
  NO_PRIORITIES,
  LOWEST_PRIORITY,
} from './priorities.ts';
import { byConnections } from '@portcullis/core/attacks/connections.ts';
import type { ConnectionCounters, ConnectionReading } from './connections/connections.ts';
import type { Counted, CounterDriver, CounterReading, ReportThreshold, Suspect } from './driver.ts';
import { isAddress } from './networks.ts';
import { TopTalkers } from './top-talkers.ts';

export type Subjects = Readonly<Record<'addresses' | 'prefixes', readonly SubjectSample[]>>;

/**
 * Directs a counter driver to the subjects with much traffic. All addresses are counted in their network. Those with
 * a notable share of their threshold are counted one by one, and those closer to it by vector. Each step takes one
 * reading.
 */
export class SubjectCounting {
  readonly #driver: CounterDriver;
  readonly #connections: ConnectionCounters | null;
  readonly #talkers = new TopTalkers();
  #priorities: Priorities = NO_PRIORITIES;
  #thresholds = new NearestScope<WatchScope>([]);
  /** Networks by name. */
  #networks = new NearestScope<string>([]);
  /** Addresses that are followed whatever their traffic. */
  #alwaysFollowed: ReadonlySet<string> = new Set();

  /** `connections`: null if they cannot be counted. */
  constructor(driver: CounterDriver, connections: ConnectionCounters | null = null) {
    this.#driver = driver;
    this.#connections = connections;
  }

  /** Rejects if the kernel refuses. */
  async watch(scopes: readonly WatchScope[]): Promise<void> {
    const subjects = scopes
      .filter(({ subject }) => subject)
      .flatMap(({ scope }) => networkOf(scope));
    const thresholds = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    await this.#driver.watch(subjects, (address) => thresholdFor(thresholds.of(address)));
    this.#connections?.watch(subjects);
    const single = subjects.filter(isAddress).map(formatNetwork);
    const networks = subjects.filter((one) => !isAddress(one)).map(formatNetwork);
    this.#thresholds = thresholds;
    this.#networks = new NearestScope(networks.map((name) => [name, name] as const));
    await this.#replaceFollowed(single, networks);
  }

  tops(subject: string, nowMs: number): SubjectTops | null {
    return this.#talkers.of(subject, nowMs);
  }

  /** Forgets samples: what was sampled of a subject belongs to an earlier attack. */
  forgetTops(subject: string): void {
    this.#talkers.forget(subject);
  }

  /** Stops counting. */
  async stop(): Promise<void> {
    await this.#connections?.count([]);
    await this.#driver.watch([], () => thresholdFor(null));
  }

  /** Traffic since the last reading. `elapsedSeconds` returns the seconds since then. */
  async read(elapsedSeconds: () => number, nowMs: number): Promise<Subjects> {
    const reading = await this.#driver.read();
    const connections = await this.#connections?.read();
    const seconds = elapsedSeconds();
    const subjectsOf = (destination: string): string[] => {
      const network = this.#networks.of(destination);
      return network === null ? [destination] : [destination, network];
    };
    for (const sample of reading.samples) {
      this.#talkers.add(sample, subjectsOf(sample.destination), nowMs);
    }
    if (connections !== undefined) this.#noteAnswered(connections, subjectsOf, nowMs);
    const before = this.#priorities;
    await this.#updatePriorities(reading, seconds);
    const corrected = (one: Counted): Counted => {
      const known = connections?.subjects.get(one.subject);
      return known === undefined ? one : byConnections(one, known);
    };
    const addresses = reading.addresses.map((one) =>
      sampleOf(corrected(one), this.#networks.of(one.subject)),
    );
    const known = new Set(addresses.map(({ subject }) => subject));
    const isNew = (name: string) =>
      this.#priorities.followed.has(name) && !before.followed.has(name) && !known.has(name);
    // Until the next reading, the suspect's counts are precise enough for the detector to start with.
    const suspects = reading.suspects
      .filter(({ address }) => isNew(address))
      .map((one) => suspectSample(one, this.#networks.of(one.address)));
    const prefixes = reading.networks.map((one) => sampleOf(corrected(one), null));
    return { addresses: [...addresses, ...suspects], prefixes };
  }

  /** Addresses with a scope of their own are always followed, up to half of the capacity. */
  async #replaceFollowed(single: readonly string[], networks: readonly string[]): Promise<void> {
    const { followed: capacity } = this.#driver.capacity;
    const always = new Set(single.slice(0, Math.floor(capacity / 2)));
    const isWatched = (name: string) => always.has(name) || this.#networks.of(name) !== null;
    const { followed, networks: previousNetworks } = this.#priorities;
    const retained = [...followed]
      .filter(([name]) => isWatched(name))
      .toSorted(([, a], [, b]) => b.share - a.share)
      .slice(0, capacity - always.size);
    const staying = new Map(retained);
    const unfollow = [...new Set([...followed.keys(), ...this.#alwaysFollowed])].filter(
      (name) => !staying.has(name) && !always.has(name),
    );
    const change = { stopVectors: [], unfollow, follow: [...always], startVectors: [] };
    await this.#driver.change(change);
    this.#alwaysFollowed = always;
    this.#priorities = {
      followed: staying,
      networks: new Map(
        networks.map((name) => [name, previousNetworks.get(name) ?? LOWEST_PRIORITY]),
      ),
    };
  }

  #noteAnswered(
    { subjects, answered }: ConnectionReading,
    subjectsOf: (destination: string) => readonly string[],
    nowMs: number,
  ): void {
    const bySubject = new Map<string, ConnectionReading['answered'][number][]>();
    for (const subject of subjects.keys()) bySubject.set(subject, []);
    for (const one of answered) {
      for (const subject of subjectsOf(one.destination)) bySubject.get(subject)?.push(one);
    }
    for (const [subject, sources] of bySubject) {
      this.#talkers.addAnswered(subject, sources, nowMs);
    }
  }

  *#withVectors(): Generator<string> {
    const { followed, networks } = this.#priorities;
    for (const [name, { countsVectors }] of [...followed, ...networks])
      if (countsVectors) yield name;
  }

  async #updatePriorities(reading: CounterReading, seconds: number): Promise<void> {
    const shareOf = (subject: string, packets: number, bytes: number): number => {
      const thresholds = this.#thresholds.of(subject);
      if (thresholds === null) return 0;
      return Math.max(packets / thresholds.pps, (bytes * 8) / thresholds.bps) / seconds;
    };
    const shares = (all: readonly Counted[]) =>
      new Map(
        all.map(({ subject, packets, bytes }) => [subject, shareOf(subject, packets, bytes)]),
      );
    const addresses = shares(reading.addresses);
    for (const { address, packets, bytes } of reading.suspects) {
      addresses.set(address, shareOf(address, packets, bytes) + (addresses.get(address) ?? 0));
    }
    const networks = shares(reading.networks);
    const { priorities, change } = updatePriorities(
      this.#priorities,
      { addresses, networks, always: this.#alwaysFollowed },
      this.#driver.capacity,
    );
    const isEmpty = Object.values(change).every((names) => names.length === 0);
    if (!isEmpty) await this.#driver.change(change);
    this.#priorities = priorities;
    await this.#connections?.count(this.#withVectors());
  }
}

/** Addresses are reported one by one when they have enough traffic to be followed. */
function thresholdFor(scope: WatchScope | null): ReportThreshold {
  if (scope === null) return { packets: 1, bytes: 1 };
  const part = FOLLOW_SHARE * (BUCKET_MS / 1000);
  return { packets: scope.pps * part, bytes: (scope.bps / 8) * part };
}

function sampleOf(one: Counted, prefix: string | null): SubjectSample {
  return { ...one, prefix, packetVariance: 0, byteVariance: 0 };
}

function suspectSample({ address, packets, bytes }: Suspect, prefix: string | null): SubjectSample {
  return {
    subject: address,
    prefix,
    packets,
    bytes,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors: [],
  };
}

/** Skips what does not parse; control validated the scopes. */
function networkOf(scope: string): Cidr[] {
  const parsed = parseCidr(scope);
  return parsed.ok ? [parsed.value] : [];
}
