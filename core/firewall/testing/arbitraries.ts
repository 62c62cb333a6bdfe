import fc from 'fast-check';
import { FILTERS } from '../../filters/catalogue.ts';
import type { FilterSettings } from '../../filters/settings.ts';
import { type Address, BITS, type Family, formatAddress } from '../../net/address.ts';
import { formatNetwork, networkOf } from '../../net/cidr.ts';
import { mergeCidrs } from '../../net/cidr-sets.ts';
import { parseCidr } from '../../net/cidr.ts';
import { ICMP_NUMBERS, protocolNumber } from '../match.ts';
import type { Packet } from '../packet.ts';
import type {
  Mitigation,
  Policy,
  PolicyFilter,
  PolicyGeoRule,
  PolicyRule,
  RuleProtocol,
  SourceSets,
} from '../policy.ts';

/**
 * Random policies and packets for property and differential tests. All values come from small, nested pools, so that
 * rules overlap, precedence matters, and most packets match a rule.
 */

/** All pool sources are in one block per family, which a kernel test can route. */
const BLOCKS: Readonly<Record<Family, Address>> = {
  4: { family: 4, value: (10n << 24n) | (77n << 16n) },
  6: { family: 6, value: 0xfd77n << 112n },
};
const SOURCE_LENGTHS: Readonly<Record<Family, readonly number[]>> = {
  4: [16, 20, 24, 25, 28, 31, 32],
  6: [16, 48, 64, 96, 120, 127, 128],
};
const PORTS = [19, 53, 80, 443, 27015] as const;
const PROTOCOLS: readonly RuleProtocol[] = ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'];

export const SOURCE_SET_NAMES = ['country:AA', 'country:BB', 'asn:64496', 'asn:64497'] as const;
const BLOCKED_SETS = ['blocked:1', 'blocked:2'] as const;
const ALL_SETS = [...SOURCE_SET_NAMES, ...BLOCKED_SETS];

/** A source address from a pool of about forty. */
export function sourceAddress(family: Family): fc.Arbitrary<string> {
  const base = BLOCKS[family].value;
  const shift = family === 4 ? 8n : 64n;
  return fc
    .tuple(fc.bigInt(0n, 3n), fc.constantFrom(1n, 2n, 17n, 33n, 65n, 129n, 130n, 200n, 254n))
    .map(([high, low]) => formatAddress({ family, value: base | (high << shift) | low }));
}

/** A network that contains such a source; null is any. */
export function sourceNetwork(family: Family): fc.Arbitrary<string | null> {
  const network = fc
    .tuple(sourceAddress(family), fc.constantFrom(...SOURCE_LENGTHS[family]))
    .map(([address, length]) => networkText(address, length));
  return fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: network });
}

export function policyRule(family: Family, kind: string): fc.Arbitrary<PolicyRule> {
  return fc
    .record({
      id: fc.nat(9999),
      action: fc.constantFrom('allow' as const, 'deny' as const),
      protocol: fc.constantFrom(...PROTOCOLS),
      port: fc.option(fc.constantFrom(...PORTS), { freq: 3 }),
      source: sourceNetwork(family),
    })
    .map(({ id, action, protocol, port, source }) => {
      const ported = protocol === 'tcp' || protocol === 'udp';
      return { ref: `${kind}:${id}`, action, protocol, port: ported ? port : null, source };
    });
}

function geoRule(): fc.Arbitrary<PolicyGeoRule> {
  return fc.record({
    ref: fc.nat(99).map((id) => `geo-rule:${id}`),
    action: fc.constantFrom('deny' as const, 'only' as const),
    sets: fc
      .uniqueArray(fc.constantFrom(...SOURCE_SET_NAMES), { minLength: 1, maxLength: 3 })
      .map((s) => s.toSorted()),
  });
}

/** A policy of a given target with any mixture of rules, group rules, baseline and geo rules. */
export function policyFor(target: string): fc.Arbitrary<Policy> {
  const { family } = networkParsed(target);
  return fc
    .record({
      baseline: fc.array(policyRule(family, 'baseline'), { maxLength: 2 }),
      blocked: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.subarray([...BLOCKED_SETS], { minLength: 1 }) },
      ),
      own: fc.array(policyRule(family, 'rule'), { maxLength: 10 }),
      group: fc.array(policyRule(family, 'group-rule'), { maxLength: 4 }),
      denyAll: fc.boolean(),
      fallback: fc.constantFrom('accept' as const, 'accept' as const, 'deny' as const),
      geo: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(geoRule(), { minLength: 1, maxLength: 2 }) },
      ),
    })
    .map(({ baseline, blocked, own, group, denyAll, fallback, geo }) => {
      const last: PolicyRule = {
        ref: 'rule:10000',
        action: 'deny',
        protocol: 'any',
        port: null,
        source: null,
      };
      const rules = [...own, ...group, ...(denyAll ? [last] : [])];
      const allowFirst = rules.toSorted((a, b) => a.action.localeCompare(b.action));
      const rest = { default: fallback, filters: [] };
      return { target, mitigations: [], baseline, blocked, geo, rules: allowFirst, ...rest };
    });
}

/** A limit is never exhausted or drops everything, so that the verdict of a kernel does not depend on time. */
export function mitigationFor(family: Family): fc.Arbitrary<Mitigation> {
  return fc.oneof(
    { weight: 2, arbitrary: anyMitigation(family) },
    { weight: 1, arbitrary: plainMitigation(family) },
  );
}

/** Stateless drops: answers of reflectors, and named sources, most of them but for what the host has answered. */
function plainMitigation(family: Family): fc.Arbitrary<Mitigation> {
  const address = sourceAddress(family);
  return fc
    .record({
      id: fc.nat(9999),
      mode: fc.constantFrom('enforce' as const, 'enforce' as const, 'observe' as const),
      safelist: fc.array(sourceNetwork(family), { maxLength: 10 }),
      sourcePort: fc.constantFrom(...PORTS),
      from: fc.option(fc.record({ address, protocol: fc.constantFrom(...PROTOCOLS) })),
      unanswered: fc.constantFrom(null, UNANSWERED, { ...UNANSWERED, answeredPps: 1_000_000 }),
    })
    .map(({ id, mode, safelist, sourcePort, from, unanswered }) => ({
      ref: `mitigation:${id}`,
      mode,
      protocol: from?.protocol ?? 'udp',
      sourcePort: from === null ? sourcePort : null,
      destinationPort: null,
      source: from?.address ?? null,
      safelist: safelist.filter((network) => network !== null),
      fragment: 'any',
      limit: from === null ? null : unanswered,
    }));
}

const UNANSWERED = { per: 'source', pps: 0, unansweredOnly: true } as const;

function anyMitigation(family: Family): fc.Arbitrary<Mitigation> {
  const limit = fc.record(
    {
      per: fc.constantFrom('destination' as const, 'source' as const),
      pps: fc.constantFrom(0, 1_000_000),
      unansweredOnly: fc.boolean(),
      answeredPps: fc.constant(1_000_000),
    },
    { requiredKeys: ['per', 'pps', 'unansweredOnly'] },
  );
  return fc
    .record({
      rule: policyRule(family, 'mitigation'),
      mode: fc.constantFrom('enforce' as const, 'observe' as const),
      sourcePort: fc.option(fc.constantFrom(...PORTS), { freq: 2 }),
      safelist: fc.array(sourceNetwork(family), { maxLength: 2 }),
      later: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
      limit: fc.option(limit, { freq: 2 }),
    })
    .map(({ rule, mode, sourcePort, safelist, later, limit }) => {
      const { ref, protocol, port, source } = rule;
      const ported = !later && (protocol === 'tcp' || protocol === 'udp');
      return {
        ref,
        mode,
        protocol,
        sourcePort: ported ? sourcePort : null,
        destinationPort: ported ? port : null,
        source,
        safelist: safelist.filter((network) => network !== null),
        fragment: later ? 'later' : 'any',
        limit,
      };
    });
}

/** Filters of ports, of holders and of mitigations; the latter usually exempt a safelist. */
export function filtersFor(
  family: Family,
  ports: readonly number[],
  count: fc.ArrayConstraints = { maxLength: 5 },
): fc.Arbitrary<PolicyFilter[]> {
  const safelist = fc.array(sourceNetwork(family), { minLength: 1, maxLength: 3 });
  const one = fc.record({
    type: fc.constantFrom(...FILTERS.map((filter) => filter.type)),
    port: fc.constantFrom(...ports),
    attack: fc.boolean(),
    drawn: fc.oneof(fc.constant<(string | null)[]>([]), safelist),
    settings: filterSettings(),
  });
  return fc.array(one, count).map((some) =>
    some.map(({ type, port, attack, drawn, settings }, index) => ({
      ref: `${attack ? 'mitigation' : 'filter'}:${index + 1}`,
      type,
      port,
      managed: attack,
      safelist: attack ? drawn.filter((network) => network !== null) : [],
      ...(!attack && Object.keys(settings).length > 0 && { settings }),
    })),
  );
}

/** Half of them none. Without rates, whose limits are drawn where the packets are. */
function filterSettings(): fc.Arbitrary<FilterSettings> {
  const some = fc.record(
    {
      minLength: fc.constantFrom(0, 1, 12),
      maxLength: fc.constantFrom(12, 40, 1200),
      sourcePorts: fc.constantFrom('1024-65535', '53,1024-30000', '27015'),
    },
    { requiredKeys: [] },
  );
  return fc.oneof(fc.constant({}), some);
}

/** Contents for every name that policies draw, in both families, sorted and merged like the real data. */
export function sourceSets(): fc.Arbitrary<SourceSets> {
  const one = fc
    .array(
      fc.constantFrom<Family>(4, 6).chain((family) => sourceNetwork(family)),
      { maxLength: 6 },
    )
    .map((networks) =>
      mergeCidrs(networks.flatMap((text) => (text === null ? [] : [networkParsed(text)]))).map(
        formatNetwork,
      ),
    );
  return fc.tuple(...ALL_SETS.map(() => one)).map((contents) => ({
    version: 'drawn',
    sets: Object.fromEntries(ALL_SETS.map((name, index) => [name, contents[index] ?? []])),
  }));
}

/** A packet to a destination from a pool source, with a protocol and port that rules are likely to name. */
export function packetTo(destination: string): fc.Arbitrary<Packet> {
  const { family } = networkParsed(destination);
  return fc
    .record({
      source: sourceAddress(family),
      kind: fc.constantFrom('tcp', 'udp', 'icmp', 'gre', 'esp', 'other'),
      destinationPort: fc.oneof(fc.constantFrom(...PORTS), fc.constantFrom(1, 18, 20, 65_535)),
      sourcePort: fc.integer({ min: 1024, max: 65_535 }),
      hopLimit: fc.constantFrom(64, 255),
      icmp: fc.record({ type: icmpType(family), code: fc.constantFrom(0, 1, 4) }),
    })
    .map(({ source, kind, destinationPort, sourcePort, hopLimit, icmp }) => {
      const ported = kind === 'tcp' || kind === 'udp';
      return {
        family,
        source,
        destination,
        protocol: kind === 'other' ? 253 : protocolNumber(kind, family),
        sourcePort: ported ? sourcePort : null,
        destinationPort: ported ? destinationPort : null,
        icmp: kind === 'icmp' ? icmp : null,
        hopLimit,
        fragment: 'none' as const,
      };
    });
}

/** ICMP of the family, both necessary types and others. */
function icmpType(family: Family): fc.Arbitrary<number> {
  return ICMP_NUMBERS[family] === 1
    ? fc.constantFrom(8, 0, 3, 11, 13)
    : fc.constantFrom(128, 129, 1, 2, 3, 144);
}

function networkText(address: string, length: number): string {
  const { family, value } = networkParsed(address);
  return formatNetwork(networkOf({ family, value }, Math.min(length, BITS[family])));
}

function networkParsed(text: string) {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw new Error(`${text}: ${cidr.reason}`);
  return cidr.value;
}
