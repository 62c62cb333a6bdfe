import fc from 'fast-check';
import { stringify } from 'yaml';

/** Fleets that are drawn at random, for tests of the fleet file. */

/** A fleet as a set of choices; every combination is a valid file. */
export interface Model {
  /** The holder of each of the three prefixes. */
  readonly prefixes: readonly ('acme' | 'hive' | null)[];
  readonly flags: readonly string[];
  readonly service: null | { name: string; active: boolean; carved: boolean; managed: boolean };
  readonly ports: readonly number[];
  /** The target of acme's group: a held prefix or an address in it. */
  readonly onAddress: boolean;
  readonly countries: readonly string[];
  /** The action of acme's prefixes for packets that no rule matches. */
  readonly fallback: 'accept' | 'deny' | null;
  readonly baseline: readonly number[];
  readonly edge: null | { sees: string; devices: string[] };
}

export const PREFIXES = ['203.0.113.0/24', '198.51.100.0/25', '2001:db8::/48'];
export const ADDRESSES = ['203.0.113.9', '198.51.100.9', '2001:db8::9'];
export const CARVED = '203.0.113.200';

export const model: fc.Arbitrary<Model> = fc.record({
  prefixes: fc.array(fc.constantFrom('acme' as const, 'hive' as const, null), {
    minLength: 3,
    maxLength: 3,
  }),
  flags: fc.uniqueArray(fc.constantFrom('firewall_api', 'attack_history_api')),
  service: fc.option(
    fc.record({
      name: fc.constantFrom('one', 'two'),
      active: fc.boolean(),
      carved: fc.boolean(),
      managed: fc.boolean(),
    }),
  ),
  ports: fc.uniqueArray(fc.integer({ min: 1, max: 6 })),
  onAddress: fc.boolean(),
  countries: fc.uniqueArray(fc.constantFrom('DE', 'US', 'FR')),
  fallback: fc.constantFrom('accept' as const, 'deny' as const, null),
  baseline: fc.uniqueArray(fc.integer({ min: 1, max: 4 })),
  edge: fc.option(
    fc.record({
      sees: fc.constantFrom('both', 'inbound'),
      devices: fc.constantFrom(['a'], ['a', 'b']),
    }),
  ),
});

export function targetsOf(wanted: Model): string[] {
  const places = wanted.onAddress ? ADDRESSES : PREFIXES;
  return places.filter((_, index) => wanted.prefixes[index] === 'acme');
}

/** The file of a model. */
export function write(wanted: Model): string {
  const targets = targetsOf(wanted);
  const organisation = (slug: 'acme' | 'hive', asn: number) => ({
    name: slug,
    asns: [asn],
    prefixes: PREFIXES.filter((_, index) => wanted.prefixes[index] === slug).map((cidr) => ({
      cidr,
      asn,
    })),
  });
  const { service, edge } = wanted;
  const acme = {
    ...organisation('acme', 64500),
    flags: wanted.flags,
    ...(wanted.fallback && { default: wanted.fallback }),
    groups: groupsOf(wanted, targets),
    geo_rules:
      wanted.countries.length === 0
        ? []
        : [{ action: 'deny', countries: wanted.countries, addresses: targets }],
  };
  const hive = { ...organisation('hive', 64501), services: servicesOf(service) };
  const rules = wanted.baseline.map((port) => ({
    action: 'deny',
    protocol: 'tcp',
    destination_port: port,
  }));
  return stringify({
    organisations: { acme, hive },
    baseline: rules.length === 0 ? [] : [{ prefixes: ['203.0.113.0/24'], rules }],
    edges: edge === null ? [] : [{ name: 'e', ...edge }],
  });
}

function groupsOf({ ports }: Model, addresses: readonly string[]): object[] {
  if (ports.length === 0) return [];
  const rules = ports.map((port) => ({ action: 'deny', protocol: 'udp', destination_port: port }));
  return [{ name: 'g', rules, addresses }];
}

function servicesOf(service: Model['service']): object[] {
  if (service === null) return [];
  const { name, active, carved, managed } = service;
  const addresses = carved ? [{ ip: CARVED }] : [];
  return [{ id: 7, name, active, addresses, managed_filters: managed ? ['udp-stateful'] : [] }];
}
