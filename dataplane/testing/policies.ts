import type { FilterSettings } from '@portcullis/core/filters/settings.ts';
import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type { Policy, PolicyFilter, PolicyRule } from '@portcullis/core/firewall/policy.ts';
import type { EarlySettings } from '../xdp/driver/driver.ts';
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

/** An early drop that knows all open flows, with the timeouts of connection tracking. */
export const EARLY_SETTINGS: EarlySettings = {
  keepReplies: true,
  flowsComplete: true,
  marksAll: false,
  management: [],
  named: [],
  vlans: [],
  remember: { tcp: 432_000, udp: 180, other: 600 },
};

/** A policy with filters only. */
type WantedFilter = readonly [type: PolicyFilter['type'], port: number, settings?: FilterSettings];

export function filteredPolicy(target: string, ...filters: readonly WantedFilter[]): Policy {
  const of = ([type, port, settings]: WantedFilter): PolicyFilter => {
    const ref = `filter:${type}:${port}`;
    return { ref, type, port, managed: false, safelist: [], ...(settings && { settings }) };
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
