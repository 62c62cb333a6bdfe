import {
  filtersFor,
  mitigationFor,
  packetTo,
  policyFor,
  sourceAddress,
  sourceSets,
} from '@portcullis/core/firewall/testing/arbitraries.ts';
import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type {
  Mitigation,
  Policy,
  PolicyFilter,
  SourceSets,
} from '@portcullis/core/firewall/policy.ts';
import { payload } from '@portcullis/core/filters/testing/payloads.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import fc from 'fast-check';
import { EXTENSIONS, firstProtocol, type Form, type Numbered, PAYLOAD, PLAIN } from './frames.ts';
import { ANY_FLAGS, FLAGS, SEGMENTS } from './segments.ts';
import { VLANS } from './vlans.ts';
import { LOCAL } from './wire.ts';

/** One of them is what the host is managed by, where it is the host's own. */
const FILTERED_PORTS = [19, 22, 53, 443, 27_015] as const;

/** Everything random comes from here, so that a seed names a whole run. */
export class Draw {
  readonly #seed: number;
  #drawn = 0;
  #lastId = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  policies(targets: readonly string[]): Policy[] {
    return targets.map((target) => this.#one(filteredPolicy(target)));
  }

  sourceSets(): SourceSets {
    // A version that is held is not sent again.
    return { ...this.#one(sourceSets()), version: `drawn-${this.#drawn}` };
  }

  some<T>(items: readonly T[], count: number): T[] {
    const size = Math.min(count, items.length);
    return this.#one(fc.shuffledSubarray([...items], { minLength: size, maxLength: size }));
  }

  /** `count` packets to each destination, in every form. */
  packets(destinations: readonly string[], count: number): Numbered[] {
    return destinations.flatMap((destination) =>
      this.#many(fc.tuple(anyPacket(destination), form(), payload()), count).map((drawn) =>
        this.number(...drawn),
      ),
    );
  }

  /** Like `packets`, a third of them first fragments and a third later ones, alone. */
  parts(destinations: readonly string[], count: number): Numbered[] {
    return this.packets(destinations, count).map(({ id, packet, form }) => {
      // Where nobody keeps parts out of reassembly, they would wait there.
      const vlan = form.vlan === VLANS.untouched ? null : form.vlan;
      const alone: Form = { ...form, vlan, cut: 'whole' };
      // Only whole packets are read further than the ports.
      const one = { id, form: alone, payload: PAYLOAD };
      if (id % 3 === 0) return { ...one, packet };
      if (id % 3 === 1) return { ...one, packet: { ...packet, fragment: 'first' } };
      return { ...one, packet: laterPart(packet, alone) };
    });
  }

  number(packet: Packet, form: Form = PLAIN, drawn: Uint8Array = PAYLOAD): Numbered {
    // What is cut needs enough to be cut, and so does what has no ports.
    const isRead = form.cut === 'whole' && packet.destinationPort !== null;
    return { id: ++this.#lastId, packet, form, payload: isRead ? Buffer.from(drawn) : PAYLOAD };
  }

  #one<T>(arbitrary: fc.Arbitrary<T>): T {
    return this.#many(arbitrary, 1)[0] as T;
  }

  #many<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
    this.#drawn++;
    return fc.sample(arbitrary, { numRuns: count, seed: this.#seed + this.#drawn });
  }
}

/** Half of the policies have filters, all of them on ports that packets go to; a third have mitigations. */
function filteredPolicy(target: string): fc.Arbitrary<Policy> {
  const family = target.includes(':') ? 6 : 4;
  const filters = fc.oneof(
    fc.constant<PolicyFilter[]>([]),
    // As many of one port as may come together: the holder's, and of two attacks.
    filtersFor(family, FILTERED_PORTS, { maxLength: 8 }),
  );
  const mitigations = fc.oneof(
    { weight: 2, arbitrary: fc.constant<Mitigation[]>([]) },
    {
      weight: 1,
      arbitrary: fc.array(mitigationFor(family), { maxLength: 3 }),
    },
  );
  return fc.tuple(policyFor(target), filters, mitigations).map(([policy, drawn, struck]) => ({
    ...policy,
    mitigations: struck,
    filters: drawn,
  }));
}

function anyPacket(destination: string): fc.Arbitrary<Packet> {
  return fc.oneof(
    { weight: 7, arbitrary: packetTo(destination) },
    { weight: 2, arbitrary: toFiltered(destination) },
    { weight: 1, arbitrary: special(destination) },
  );
}

/** Datagrams and segments to ports that may have filters. */
function toFiltered(destination: string): fc.Arbitrary<Packet> {
  const family: Family = destination.includes(':') ? 6 : 4;
  return fc
    .record({
      source: sourceAddress(family),
      // Some from where reflectors answer.
      sourcePort: fc.oneof(
        fc.integer({ min: 1024, max: 65_535 }),
        fc.constantFrom(...FILTERED_PORTS),
      ),
      destinationPort: fc.constantFrom(...FILTERED_PORTS),
      protocol: fc.constantFrom(PROTOCOL_NUMBERS.udp, PROTOCOL_NUMBERS.udp, PROTOCOL_NUMBERS.tcp),
    })
    .map((drawn) => ({
      family,
      destination,
      icmp: null,
      hopLimit: 64,
      fragment: 'none',
      ...drawn,
    }));
}

/** Half of the packets plain but for the flags of TCP. */
function form(): fc.Arbitrary<Form> {
  const flags = fc.oneof(
    fc.constant(FLAGS.syn),
    fc.constantFrom(...SEGMENTS),
    fc.integer({ min: 0, max: ANY_FLAGS }),
  );
  const plain = flags.map((drawn): Form => ({ ...PLAIN, flags: drawn }));
  const drawn = fc.record<Form>({
    cut: fc.constantFrom('whole', 'cut', 'reversed'),
    vlan: fc.constantFrom(null, null, 0, VLANS.judged, VLANS.untouched),
    extensions: fc.oneof(fc.constant([]), fc.subarray([...EXTENSIONS])),
    flags,
    sequence: fc.constant(0),
    acknowledged: fc.constant(0),
  });
  return fc.oneof(plain, drawn);
}

/** The part that is seen of it without its first part: which protocol its first header is of, and no more. */
function laterPart(packet: Packet, form: Form): Packet {
  return {
    ...packet,
    protocol: firstProtocol(packet, form),
    sourcePort: null,
    destinationPort: null,
    icmp: null,
    fragment: 'later',
  };
}

/** Protocols that no rule can name; some of them lead to another header, or have ports. */
const OTHERS: Readonly<Record<Family, readonly number[]>> = {
  4: [4, 43, 44, 51, 58, 60, 132],
  6: [1, 4, 41, 51, 59, 132, 135],
};

/** Management ports, ICMP of every kind that neighbours use, and protocols of neither ports nor names. */
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
  const other = fc.record({
    source: sourceAddress(family),
    hopLimit,
    protocol: fc.constantFrom(...OTHERS[family]),
  });
  return fc.oneof(management, icmp, other).map((drawn) => ({ ...base, ...drawn }));
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
