import type { Policy, PolicyFilter } from '@portcullis/core/firewall/policy.ts';
import { DEFAULT_LIMITS, type EdgeRules } from '../nftables/base-chain.ts';

/** Settings of an edge for tests, changed where a test says so. */
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

/** Without rules: only filters. */
export function filteredPolicy(
  target: string,
  ...filters: readonly (readonly [type: PolicyFilter['type'], port: number])[]
): Policy {
  const of = ([type, port]: readonly [PolicyFilter['type'], number]): PolicyFilter => {
    return { ref: `filter:${type}:${port}`, type, port, managed: false };
  };
  return { target, mitigations: [], baseline: [], geo: [], rules: [], filters: filters.map(of) };
}
