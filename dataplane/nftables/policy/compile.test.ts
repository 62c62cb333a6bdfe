import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy, PolicyRule } from '@portcullis/core/firewall/policy.ts';
import { type CompiledTarget } from './compiled.ts';
import { compilePolicy } from './compile.ts';
import { PolicyError } from '../../compile/match.ts';

describe('compiled policies', () => {
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
const PORT_LOOKUP =
  'meta priority set ip daddr . meta l4proto . th dport map @port4 meta priority vmap @verdicts_port';

function statementsOf(chains: CompiledTarget['chains']): (readonly string[])[] {
  return [...chains.values()].map(({ statements }) => statements);
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
