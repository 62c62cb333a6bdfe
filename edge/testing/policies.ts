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
