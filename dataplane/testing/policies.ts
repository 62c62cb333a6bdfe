import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type { Policy, PolicyFilter, PolicyRule } from '@portcullis/core/firewall/policy.ts';
import { DEFAULT_LIMITS, type EdgeRules } from '../nftables/table/edge-rules.ts';

/** Edge rules for tests. */
export function edgeRules(change: Partial<EdgeRules> = {}): EdgeRules {
  return {
    devices: ['wan'],
    management: [{ protocol: 'tcp', port: 22 }],
    sees: 'both',
    fragments: 'reassemble',
    ...DEFAULT_LIMITS,
    ...change,
  };
}

/** A policy with filters only. */
export function filteredPolicy(
  target: string,
  ...filters: readonly (readonly [type: PolicyFilter['type'], port: number])[]
): Policy {
  const of = ([type, port]: readonly [PolicyFilter['type'], number]): PolicyFilter => {
    return { ref: `filter:${type}:${port}`, type, port, managed: false, safelist: [] };
  };
  return { target, ...EMPTY_POLICY, filters: filters.map(of) };
}

/** Denies everything except what these rules allow. */
export function denyAll(target: string, rules: readonly PolicyRule[] = []): Policy {
  const deny = {
    ref: 'rule:0',
    action: 'deny',
    protocol: 'any',
    port: null,
    source: null,
  } as const;
  return { target, ...EMPTY_POLICY, rules: [...rules, deny], filters: [] };
}

/** From any source. */
export function allowPort(protocol: 'tcp' | 'udp', port: number): PolicyRule {
  return { ref: `rule:${port}`, action: 'allow', protocol, port, source: null };
}
