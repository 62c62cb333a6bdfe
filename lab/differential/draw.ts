import {
  packetTo,
  policyFor,
  sourceAddress,
  sourceSets,
} from '@portcullis/core/firewall/testing/arbitraries.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import fc from 'fast-check';
import type { Numbered } from './frames.ts';
import { LOCAL } from './wire.ts';

/** Everything random comes from here, so that a seed names a whole run. */
export class Draw {
  readonly #seed: number;
  #drawn = 0;
  #lastId = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  policies(targets: readonly string[]): Policy[] {
    return targets.map((target) => this.#one(policyFor(target)));
  }

  sourceSets(): SourceSets {
    return this.#one(sourceSets());
  }

  some<T>(items: readonly T[], count: number): T[] {
    const size = Math.min(count, items.length);
    return this.#one(fc.shuffledSubarray([...items], { minLength: size, maxLength: size }));
  }

  /** `count` packets to each destination, one in eight in two parts. */
  packets(destinations: readonly string[], count: number): Numbered[] {
    return destinations.flatMap((destination) =>
      this.#many(
        fc.tuple(
          fc.oneof(
            { weight: 9, arbitrary: packetTo(destination) },
            { weight: 1, arbitrary: special(destination) },
          ),
          fc.nat(7),
        ),
        count,
      ).map(([packet, part]) => this.number(packet, part === 0)),
    );
  }

  number(packet: Packet, cut = false): Numbered {
    return { id: ++this.#lastId, packet, cut };
  }

  #one<T>(arbitrary: fc.Arbitrary<T>): T {
    return this.#many(arbitrary, 1)[0] as T;
  }

  #many<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
    this.#drawn++;
    return fc.sample(arbitrary, { numRuns: count, seed: this.#seed + this.#drawn });
  }
}

/** Management ports, and ICMP of every kind that neighbours use. */
function special(destination: string): fc.Arbitrary<Packet> {
  const family: Family = destination.includes(':') ? 6 : 4;
  const base = {
    family,
    destination,
    sourcePort: null,
    destinationPort: null,
    icmp: null,
    fragment: 'none',
  } as const;
  const hopLimit = fc.constantFrom(64, 255);
  const management = fc.record({
    source: sourceAddress(family),
    hopLimit,
    sourcePort: fc.constant(40_000),
    destinationPort: fc.constantFrom(22, 23),
    protocol: fc.constantFrom(6, 17),
  });
  const icmp = fc.record({
    source: sourceAddress(family),
    hopLimit,
    icmp: fc.record({
      type: fc.constantFrom(...(family === 4 ? [3, 11, 12] : [132, 133, 134, 135, 136, 137, 138])),
      code: fc.constantFrom(0, 4),
    }),
    protocol: fc.constant(family === 4 ? 1 : 58),
  });
  return fc.oneof(management, icmp).map((drawn) => ({ ...base, ...drawn }));
}

/** Targets of a round: addresses, prefixes in prefixes, and the edge host's own; destinations meet each of them. */
export function targetsOfRound(round: number): { targets: string[]; destinations: string[] } {
  const v4 = (host: number): string => `203.0.${round}.${host}`;
  const v6 = (host: number): string => `2001:db8:5:${round.toString(16)}::${host.toString(16)}`;
  const hosts = [10, 11, 12, 13, 70, 71, 72, 130, 131, 132, 133, 134, 135];
  const prefixes4 = [
    `203.0.${round}.0/24`,
    v4(0) + '/25',
    `${v4(64)}/26`,
    `${v4(64)}/28`,
    `${v4(192)}/27`,
    `${v4(200)}/29`,
  ];
  const prefixes6 = [
    `2001:db8:5:${round.toString(16)}::/64`,
    `2001:db8:5:${round.toString(16)}::/112`,
    `${v6(0x80)}/121`,
    `${v6(0xc0)}/124`,
    `${v6(0xf000)}/116`,
    `${v6(0xff00)}/120`,
  ];
  const targets = [
    ...hosts.map(v4),
    ...hosts.map(v6),
    ...prefixes4.map(withoutZeroRun),
    ...prefixes6.map(withoutZeroRun),
    ...Object.values(LOCAL),
  ];
  const inPrefixes4 = [5, 60, 66, 90, 140, 195, 201, 215, 250].map(v4);
  const inPrefixes6 = [5, 0x90, 0xc1, 0xe000, 0xf001, 0xff01].map(v6);
  const destinations = [
    ...hosts.map(v4),
    ...hosts.map(v6),
    ...inPrefixes4,
    ...inPrefixes6,
    ...Object.values(LOCAL),
  ];
  return { targets, destinations };
}

/** `…::0/112` is written `…::/112`. */
function withoutZeroRun(prefix: string): string {
  return prefix.replace('::0/', '::/');
}
