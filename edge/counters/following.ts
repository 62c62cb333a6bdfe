import type { SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { type Cidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { WatchScope } from '@portcullis/link/watch-messages.ts';
import { attend, type Attention, INATTENTIVE } from './attention.ts';
import type { Counted, CounterDriver, CounterReading, Suspect } from './driver.ts';
import { isAddress } from './networks.ts';

export type Subjects = Readonly<Record<'addresses' | 'prefixes', readonly SubjectSample[]>>;

/**
 * Turns the attention of one driver to who gets much: all addresses are counted as their network, those that get a
 * noteworthy part of their threshold one by one, and those nearer to it by vector. That takes one reading each.
 */
export class Following {
  readonly #driver: CounterDriver;
  #attention: Attention = INATTENTIVE;
  #thresholds = new NearestScope<WatchScope>([]);
  /** Networks around addresses, by name. */
  #around = new NearestScope<string>([]);
  /** Protected addresses that have a scope of their own. */
  #always: ReadonlySet<string> = new Set();

  constructor(driver: CounterDriver) {
    this.#driver = driver;
  }

  /** Rejects where the kernel refuses. */
  async watch(scopes: readonly WatchScope[]): Promise<void> {
    const subjects = scopes
      .filter(({ subject }) => subject)
      .flatMap(({ scope }) => networkOf(scope));
    await this.#driver.watch(subjects);
    const networks = subjects.filter((one) => !isAddress(one)).map(formatNetwork);
    this.#thresholds = new NearestScope(scopes.map((one) => [one.scope, one] as const));
    this.#around = new NearestScope(networks.map((name) => [name, name] as const));
    // Others still find room.
    const most = Math.floor(this.#driver.room.followed / 2);
    this.#always = new Set(subjects.filter(isAddress).slice(0, most).map(formatNetwork));
    const inside = new NearestScope(subjects.map((one) => [formatNetwork(one), true] as const));
    const { followed, networks: noted } = this.#attention;
    this.#attention = {
      followed: new Map([...followed].filter(([name]) => inside.of(name) !== null)),
      networks: new Map(
        networks.map((name) => [
          name,
          noted.get(name) ?? { share: 0, idle: 0, quiet: 0, told: false },
        ]),
      ),
    };
    await this.#attend({ addresses: [], networks: [], suspects: [] }, [], 1);
  }

  /** What came since the last reading, which was so long ago. */
  async read(seconds: () => number): Promise<Subjects> {
    const reading = await this.#driver.read();
    const passed = seconds();
    const addresses = reading.addresses.map((one) => sampleOf(one, this.#around.of(one.subject)));
    const known = new Set(addresses.map(({ subject }) => subject));
    const prefixes = this.#prefixes(reading, addresses);
    const before = this.#attention;
    await this.#attend(reading, prefixes, passed);
    // Until the next reading about as much is known of them as is enough for the detector to begin with.
    const suspects = reading.suspects
      .filter(({ address }) => this.#isNew(address, before) && !known.has(address))
      .map((one) => suspected(one, this.#around.of(one.address)));
    return { addresses: [...addresses, ...suspects], prefixes };
  }

  /** Who is told apart. */
  isTold(subject: string): boolean {
    const { followed, networks } = this.#attention;
    return (followed.get(subject) ?? networks.get(subject))?.told === true;
  }

  #isNew(address: string, before: Attention): boolean {
    return this.#attention.followed.has(address) && !before.followed.has(address);
  }

  /** Everything sent into each: what drivers count of networks is beside what they count of addresses. */
  #prefixes({ networks }: CounterReading, addresses: readonly SubjectSample[]): SubjectSample[] {
    const sums = new Map<string, Sum>();
    for (const one of networks) sums.set(one.subject, { ...sampleOf(one, null) });
    for (const one of addresses) {
      if (one.prefix === null) continue;
      const sum = sums.get(one.prefix) ?? emptySum(one.prefix);
      sums.set(one.prefix, sum);
      sum.packets += one.packets;
      sum.bytes += one.bytes;
      sum.dataPackets += one.dataPackets;
      sum.dataBytes += one.dataBytes;
      sum.receiptPackets += one.receiptPackets;
    }
    return [...sums.values()].filter(({ packets }) => packets > 0);
  }

  async #attend(
    reading: CounterReading,
    prefixes: readonly SubjectSample[],
    seconds: number,
  ): Promise<void> {
    const shareOf = (subject: string, packets: number, bytes: number): number => {
      const thresholds = this.#thresholds.of(subject);
      if (thresholds === null) return 0;
      return Math.max(packets / thresholds.pps, (bytes * 8) / thresholds.bps) / seconds;
    };
    const addresses = new Map(
      reading.suspects.map(({ address, packets, bytes }) => [
        address,
        shareOf(address, packets, bytes),
      ]),
    );
    for (const { subject, packets, bytes } of reading.addresses) {
      addresses.set(subject, shareOf(subject, packets, bytes) + (addresses.get(subject) ?? 0));
    }
    const networks = new Map(
      prefixes.map(({ subject, packets, bytes }) => [subject, shareOf(subject, packets, bytes)]),
    );
    const shares = { addresses, networks, always: this.#always };
    const { attention, change } = attend(this.#attention, shares, this.#driver.room);
    const isEmpty = Object.values(change).every((names) => names.length === 0);
    if (!isEmpty) await this.#driver.change(change);
    this.#attention = attention;
  }
}

type Sum = { -readonly [K in keyof SubjectSample]: SubjectSample[K] };

function sampleOf(one: Counted, prefix: string | null): SubjectSample {
  return { ...one, prefix, packetVariance: 0, byteVariance: 0 };
}

function suspected({ address, packets, bytes }: Suspect, prefix: string | null): SubjectSample {
  return { ...emptySum(address), prefix, packets, bytes };
}

function emptySum(subject: string): Sum {
  return {
    subject,
    prefix: null,
    packets: 0,
    bytes: 0,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors: [],
  };
}

/** None for what is no network: control told it, and it was looked at on the way here. */
function networkOf(scope: string): Cidr[] {
  const parsed = parseCidr(scope);
  return parsed.ok ? [parsed.value] : [];
}
