import type { RuleAction, RuleProtocol } from '@portcullis/core/firewall/policy.ts';

/** The group that owns an object; null for the holder's own. */
export interface GroupRef {
  readonly id: number;
  readonly name: string;
}

export interface RuleContent {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** Canonical, a single address without its length; null is any source. */
  readonly source: string | null;
  readonly port: number | null;
}

export interface StoredRule extends RuleContent {
  readonly id: number;
  readonly group: GroupRef | null;
}

export interface FilterContent {
  readonly type: string;
  readonly port: number;
}

export interface StoredFilter extends FilterContent {
  /** Unique among own filters and, apart from them, among group filters: never shown. */
  readonly id: number;
  readonly group: GroupRef | null;
}

/** How far packets to an address are judged by what was written. */
export type Enforcement = 'full' | 'partial' | 'none';

/** What both views of an address have: objects, and where the fleet stands. */
export interface AddressState {
  readonly holdingId: number;
  /** The newest generation that every edge serving the address has. */
  readonly liveGeneration: number;
  readonly acceptedGeneration: number;
  readonly enforcement: Enforcement;
  /** Whether geo rules judge packets to the address; told only of what is accepted. */
  readonly hasGeoRules: boolean;
  /** Allow before deny, then by id. */
  readonly rules: readonly StoredRule[];
  /** By type, then port. */
  readonly filters: readonly StoredFilter[];
}

/** What makes two rules of one address the same rule. */
export function ruleIdentity(rule: RuleContent): string {
  return `${rule.action} ${rule.protocol} ${rule.source ?? '*'} ${rule.port ?? '*'}`;
}

/** How a filter is named to callers, who must take it as it is. */
export function filterKey(filter: FilterContent): string {
  return `${filter.type}:${filter.port}`;
}
