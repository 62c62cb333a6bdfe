import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  filtersFor,
  packetTo,
  policyFor,
  sourceSets,
} from '@portcullis/core/firewall/testing/arbitraries.ts';
import { decide } from '@portcullis/core/firewall/decide/decide.ts';
import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import type { Packet, PacketState } from '@portcullis/core/firewall/packet.ts';
import type { Policy, PolicyRule, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import fc from 'fast-check';
import type { FilterFacts } from '../../testing/filter-interpreter.ts';
import { interpret } from '../../testing/interpreter.ts';
import { edgeRules } from '../../testing/policies.ts';
import { type CompiledTarget } from './compiled.ts';
import { compilePolicy } from './compile.ts';
import { DEFAULT_FILTERING } from '../filters/compile.ts';
import { planLayout } from '../table/layout.ts';
import { PolicyError } from '../../compile/match.ts';

const TARGETS = [
  '203.0.113.10',
  '203.0.113.20',
  '203.0.113.0/24',
  '203.0.0.0/16',
  '203.0.113.16/28',
  '2001:db8:5::10',
  '2001:db8:5::/64',
  '2001:db8::/32',
];
const DESTINATIONS = [
  '203.0.113.10',
  '203.0.113.20',
  '203.0.113.21',
  '203.0.113.99',
  '203.0.7.7',
  '203.1.0.0',
  '2001:db8:5::10',
  '2001:db8:5::11',
  '2001:db8:6::1',
];
const STATE = {
  returnTraffic: false,
  icmpWithinRate: false,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  filters: {},
};

describe('compiled policies', () => {
  it('give the verdict of the reference evaluator for every packet', () => {
    const drawn = fc.record({
      policies: fc.tuple(...TARGETS.map((target) => fc.option(policyFor(target), { freq: 6 }))),
      sets: sourceSets(),
      packets: fc.array(fc.constantFrom(...DESTINATIONS).chain(packetTo), {
        minLength: 20,
        maxLength: 20,
      }),
      laterFragments: fc.boolean(),
    });
    fc.assert(
      fc.property(drawn, ({ policies, sets, packets, laterFragments }) => {
        const present = policies.filter((policy) => policy !== null);
        assertAgreement(present, sets, laterFragments ? packets.map(laterFragment) : packets);
      }),
      { numRuns: 500 },
    );
  });

  it('give the verdict of the reference evaluator with filters for the same state', () => {
    const drawn = fc.record({
      policies: fc.tuple(
        ...TARGETS.map((target) =>
          fc.option(
            fc.tuple(policyFor(target), filtersFor(familyOf(target), [19, 53, 443, 27_015])),
            {
              freq: 6,
            },
          ),
        ),
      ),
      packets: fc.array(fc.constantFrom(...DESTINATIONS).chain(packetTo), {
        minLength: 20,
        maxLength: 20,
      }),
      sees: fc.constantFrom('both' as const, 'inbound' as const),
      facts: fc.record({
        validated: fc.boolean(),
        established: fc.boolean(),
        unvalidatedWithinRate: fc.boolean(),
        validatedWithinRate: fc.boolean(),
        withinBudget: fc.boolean(),
      }),
    });
    fc.assert(
      fc.property(drawn, ({ policies, packets, sees, facts }) => {
        const present = policies
          .filter((one) => one !== null)
          .map(([policy, filters]) => ({
            ...policy,
            geo: [],
            filters,
          }));
        const sets = { version: '1', sets: {} };
        assertAgreement(present, sets, packets, { sees, facts });
        assertAgreement(present, sets, packets.map(laterFragment), { sees, facts });
      }),
      { numRuns: 300 },
    );
  });

  it('omit denies that are equivalent to the final deny', () => {
    const { elements, chains } = compile(TARGET, [
      rule('allow', 'tcp', 443),
      ...[19, 53, 123].map((port) => rule('deny', 'udp', port)),
      rule('deny', 'any', null, '198.51.100.0/24'),
      rule('deny', 'any'),
    ]);
    assert.deepEqual(
      elements.map(({ map, key, verdict }) => `${map} ${key} ${verdict}`),
      [`port4 ${TARGET} . tcp . 443 accept`, `address4 ${TARGET} goto ${[...chains.keys()][0]}`],
    );
    assert.deepEqual(statementsOf(chains), [
      [`meta l4proto tcp ${PORT_LOOKUP}`, 'goto dropped_denied'],
    ]);
  });

  it('look up only the address if no rule needs more', () => {
    const { elements } = compile(TARGET, [
      ...[19, 53, 123].map((port) => rule('deny', 'udp', port)),
      rule('deny', 'any'),
    ]);
    assert.deepEqual(
      elements.map(({ map, key, verdict }) => `${map} ${key} ${verdict}`),
      [`address4 ${TARGET} goto dropped_denied`],
    );
  });

  it('compare the few protocols named by rules, and look up ports only for these', () => {
    const { chains } = compile(TARGET, [
      rule('allow', 'udp', 53),
      rule('allow', 'icmp'),
      rule('allow', 'gre'),
      rule('deny', 'any'),
    ]);
    assert.deepEqual(statementsOf(chains), [
      [
        `meta l4proto udp ${PORT_LOOKUP}`,
        'meta l4proto icmp accept',
        'meta l4proto gre accept',
        'goto dropped_denied',
      ],
    ]);
  });

  it('look up the source only if a rule of the port names one', () => {
    const { elements, chains } = compile(TARGET, [
      rule('allow', 'tcp', 22, '198.51.100.0/24'),
      rule('allow', 'tcp', 443),
      rule('deny', 'any'),
    ]);
    const [shape, address] = [...chains.keys()];
    assert.deepEqual(
      elements.map(({ map, key, verdict }) => `${map} ${key} ${verdict}`),
      [
        `port4 ${TARGET} . tcp . 22 goto ${shape}`,
        `port4 ${TARGET} . tcp . 443 accept`,
        `address4 ${TARGET} goto ${address}`,
        `source4_port_24_0 ${TARGET} . tcp . 22 . 198.51.100.0 accept`,
      ],
    );
  });

  it('share one chain between all addresses with equal lookups', () => {
    const names = Array.from({ length: 50 }, (_, index) =>
      [
        ...compile(`203.0.113.${index}`, [
          rule('allow', 'tcp', 1000 + index, `10.0.${index}.0/24`),
          rule('deny', 'any'),
        ]).chains.keys(),
      ].join(),
    );
    assert.equal(new Set(names).size, 1);
  });

  it('reject invalid policies that a parser should have rejected', () => {
    const bad: readonly PolicyRule[] = [
      rule('allow', 'icmp', 22),
      rule('allow', 'tcp', 70_000),
      rule('allow', 'tcp', 22, '2001:db8::/32'),
      rule('allow', 'tcp', 22, '10.0.0.1 }; flush ruleset'),
    ];
    for (const one of bad) assert.throws(() => compile(TARGET, [one]), PolicyError);
    const policy = {
      ...policyOf(TARGET, []),
      geo: [{ ref: 'geo-rule:1', action: 'deny' as const, sets: ['x\nflush ruleset'] }],
    };
    assert.throws(() => compilePolicy(policy), PolicyError);
  });
});

const TARGET = '203.0.113.10';
const PORT_LOOKUP = 'ip daddr . meta l4proto . th dport vmap @port4';

function statementsOf(chains: CompiledTarget['chains']): (readonly string[])[] {
  return [...chains.values()].map(({ statements }) => statements);
}

interface Filtered {
  readonly sees: 'both' | 'inbound';
  readonly facts: FilterFacts;
}

function assertAgreement(
  policies: readonly Policy[],
  sets: SourceSets,
  packets: readonly Packet[],
  filtered: Filtered | null = null,
): void {
  const sees = filtered?.sees ?? 'inbound';
  const compiled = new Map(
    policies.map((policy) => [
      policy.target,
      compilePolicy(policy, { ...DEFAULT_FILTERING, sees }),
    ]),
  );
  const kernel = interpret(
    planLayout(edgeRules({ sees }), compiled, sets),
    filtered?.facts ?? null,
  );
  const settings = { localAddresses: [], management: [], sees, fragments: 'limit' } as const;
  const edge = { settings, policies: createPolicyTable(policies), sourceSets: sets };
  for (const packet of packets) {
    const filters =
      filtered === null || filterPasses(packet, filtered) ? {} : everyFilterDrops(policies);
    const { action, stage, ref } = decide(edge, packet, { ...STATE, filters });
    assert.equal(kernel(packet), action, `${JSON.stringify(packet)} by ${stage} ${ref}`);
  }
}

/** The result of a filter on the port of the packet. */
function filterPasses({ protocol }: Packet, { sees, facts }: Filtered): boolean {
  if (sees === 'inbound') return facts.validatedWithinRate;
  if (protocol === PROTOCOL_NUMBERS.tcp) return !facts.established || facts.validatedWithinRate;
  return facts.validated
    ? facts.validatedWithinRate
    : facts.unvalidatedWithinRate && facts.withinBudget;
}

function everyFilterDrops(policies: readonly Policy[]): PacketState['filters'] {
  const refs = policies.flatMap(({ filters }) => filters.map(({ ref }) => ref));
  return Object.fromEntries(refs.map((ref) => [ref, 'drop' as const]));
}

function familyOf(target: string): 4 | 6 {
  return target.includes(':') ? 6 : 4;
}

function laterFragment(packet: Packet): Packet {
  return { ...packet, fragment: 'later', sourcePort: null, destinationPort: null, icmp: null };
}

function compile(target: string, rules: readonly PolicyRule[]): CompiledTarget {
  return compilePolicy(policyOf(target, rules));
}

function policyOf(target: string, rules: readonly PolicyRule[]): Policy {
  return { target, ...EMPTY_POLICY, rules, filters: [] };
}

function rule(
  action: 'allow' | 'deny',
  protocol: PolicyRule['protocol'],
  port: number | null = null,
  source: string | null = null,
): PolicyRule {
  return { ref: 'rule:1', action, protocol, port, source };
}
