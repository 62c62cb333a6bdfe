import fc from 'fast-check';
import {
  filtersFor,
  mitigationFor,
  packetTo,
  policyFor,
  sourceAddress,
  sourceSets,
} from './arbitraries.ts';
import { payload } from '../../filters/testing/payloads.ts';
import type { EdgeSettings, Packet, PacketState } from '../packet.ts';
import type { Policy, SourceSets } from '../policy.ts';

/** Nested prefixes that contain addresses, in both families. */
export const TARGETS = [
  '203.0.113.10',
  '203.0.113.0/28',
  '203.0.113.0/24',
  '203.0.0.0/16',
  '2001:db8:5::10',
  '2001:db8:5::/64',
  '2001:db8::/32',
] as const;

/** Destinations in one, several and no targets. */
export const DESTINATIONS = [
  '203.0.113.10',
  '203.0.113.11',
  '203.0.113.200',
  '203.0.7.7',
  '203.1.0.0',
  '2001:db8:5::10',
  '2001:db8:5::11',
  '2001:db8:6::1',
  '2001:db9::',
] as const;

const LOCAL = ['203.0.113.10', '2001:db8:5::10'] as const;
const PORTS = [19, 53, 80, 443, 27015] as const;
/** This number for every port. */
const FILTERS = { minLength: 5, maxLength: 15 };

/** All inputs of a verdict, with mitigations, filters and state, so that all stages are reached. */
export interface Situation {
  readonly policies: readonly Policy[];
  readonly settings: EdgeSettings;
  readonly sourceSets: SourceSets;
  readonly packet: Packet;
  readonly state: PacketState;
}

/** Half of them are addresses that an edge may hold itself. */
function destination(): fc.Arbitrary<string> {
  return fc.oneof(fc.constantFrom(...LOCAL), fc.constantFrom(...DESTINATIONS));
}

export function situation(): fc.Arbitrary<Situation> {
  return fc
    .tuple(fc.subarray([...TARGETS], { minLength: 4 }), destination())
    .chain(([targets, destination]) =>
      fc.record({
        policies: fc.tuple(...targets.map(fullPolicy)),
        settings: edgeSettings(),
        sourceSets: sourceSets(),
        packet: anyPacket(destination),
        state: packetState(),
        above: fc.boolean(),
      }),
    )
    .map(({ above, state, ...drawn }) => {
      const limited = drawn.policies.flatMap(({ mitigations }) => mitigations);
      const aboveLimit = above ? limited.map(({ ref }) => ref) : [];
      return { ...drawn, state: { ...state, aboveLimit } };
    });
}

/** Further packets to any of the destinations. */
export function packets(length: number): fc.Arbitrary<Packet[]> {
  return fc.array(destination().chain(anyPacket), { minLength: length, maxLength: length });
}

/** Usually none. */
function rare<T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant<T[]>([]) }, fc.array(one, { maxLength: 2 }));
}

/** Like `policyFor`, with mitigations and filters. */
export function fullPolicy(target: string): fc.Arbitrary<Policy> {
  const family = target.includes(':') ? 6 : 4;
  const mitigation = mitigationFor(family);
  return fc
    .tuple(policyFor(target), rare(mitigation), filtersFor(family, PORTS, FILTERS))
    .map(([policy, mitigations, filters]) => Object.assign({}, policy, { mitigations, filters }));
}

function edgeSettings(): fc.Arbitrary<EdgeSettings> {
  return fc.record({
    localAddresses: fc.subarray([...LOCAL]),
    management: fc.array(
      fc.record({
        protocol: fc.constantFrom('tcp' as const, 'udp' as const),
        port: fc.constantFrom(...PORTS),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    sees: fc.constantFrom('both' as const, 'inbound' as const),
    fragments: fc.constantFrom('reassemble' as const, 'limit' as const),
  });
}

/** Like `packetTo`, with fragments, and source ports that a mitigation may name. */
function anyPacket(destination: string): fc.Arbitrary<Packet> {
  return fc
    .tuple(
      packetTo(destination),
      fc.constantFrom('none' as const, 'none' as const, 'first' as const, 'later' as const),
      fc.constantFrom(...PORTS, 40_000),
      sourceAddress(destination.includes(':') ? 6 : 4),
    )
    .map(([packet, fragment, sourcePort, source]) =>
      cut(
        { ...packet, source, sourcePort: packet.sourcePort === null ? null : sourcePort },
        fragment,
      ),
    );
}

/** A later fragment has no header of the upper layer. */
function cut(packet: Packet, fragment: Packet['fragment']): Packet {
  const header = { sourcePort: null, destinationPort: null, icmp: null };
  return { ...packet, fragment, ...(fragment === 'later' ? header : {}) };
}

/** Usually below the limits, so that packets reach the later stages. */
function packetState(): fc.Arbitrary<PacketState> {
  const seldom = fc.integer({ min: 0, max: 7 }).map((drawn) => drawn === 0);
  return fc.record({
    returnTraffic: seldom,
    icmpWithinRate: fc.boolean(),
    fragmentsWithinLimit: seldom.map((drawn) => !drawn),
    answered: fc.boolean(),
    aboveLimit: fc.constant([]),
    filtered: fc.oneof(
      { weight: 1, arbitrary: fc.constant(null) },
      {
        weight: 7,
        arbitrary: fc.record({
          payload: payload(),
          validated: fc.boolean(),
          established: fc.boolean(),
          opened: fc.boolean(),
          above: fc.subarray(['unvalidated-rate', 'budget', 'validated-rate'] as const),
        }),
      },
    ),
  });
}
