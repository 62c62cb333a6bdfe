import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import type {
  FilterContent,
  NamedPort,
  RuleContent,
} from '@portcullis/core/firewall/rules/content.ts';
import type { Marks } from '@portcullis/core/firewall/rules/marks.ts';

/** The group that owns an object; null for the holder's own. */
export interface GroupRef {
  readonly id: number;
  readonly name: string;
}

export interface StoredRule extends RuleContent, Marks {
  readonly id: number;
  readonly group: GroupRef | null;
  /** `shown`: `Survival:query`, as callers write it. */
  readonly namedPort: Required<NamedPort> | null;
}

export interface StoredFilter extends FilterContent {
  /** Unique among own filters, and separately among group filters. Never shown to callers. */
  readonly id: number;
  readonly group: GroupRef | null;
}

/** Whether edges enforce the accepted objects of an address. */
export type Enforcement = 'full' | 'partial' | 'none';

/** The objects of an address, live or accepted, and the state of the fleet. */
export interface AddressState {
  readonly holdingId: number;
  /** The newest generation that every edge serving the address has. */
  readonly liveGeneration: number;
  readonly acceptedGeneration: number;
  readonly enforcement: Enforcement;
  /** Whether geo rules apply to the address; loaded only for the accepted state. */
  readonly hasGeoRules: boolean;
  /** The verdict on packets that no rule matches. */
  readonly default: DefaultAction;
  /** Allow before deny, then by id. */
  readonly rules: readonly StoredRule[];
  /** Filters by type, then port. */
  readonly filters: readonly StoredFilter[];
}

/**
 * The newest generation that kernels enforce; null while no edge enforces. `/api/v1` shows what is accepted then, and
 * nothing beyond it calls that live.
 */
export function enforcedGeneration({
  liveGeneration,
  enforcement,
}: Pick<AddressState, 'liveGeneration' | 'enforcement'>): number | null {
  return enforcement === 'none' ? null : liveGeneration;
}
