import { describeSettings, type FilterSettings } from '@portcullis/core/filters/settings.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { DefaultAction, RuleAction, RuleProtocol } from '@portcullis/core/firewall/policy.ts';

/** The group that owns an object; null for the holder's own. */
export interface GroupRef {
  readonly id: number;
  readonly name: string;
}

export interface RuleContent {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** Canonical; null means any source. Of a group always with its length, of an address without a full length. */
  readonly source: string | null;
  readonly port: number | null;
  /** The name that `port` follows; null or absent: none. */
  readonly namedPort?: NamedPort | null;
}

/** A port of a game server by its name. */
export interface NamedPort {
  /** The uuid. */
  readonly server: string;
  readonly name: string;
}

/**
 * Marks that an organisation adds to its own rules, without a change for edges. `/api/v1` neither shows nor changes
 * it.
 */
export interface RuleMarks {
  /** The caller's own name, unique on an address. */
  readonly ref: string | null;
  /** When the rule ends by itself. */
  readonly expiresAt: Date | null;
}

export interface StoredRule extends RuleContent, RuleMarks {
  readonly id: number;
  readonly group: GroupRef | null;
  /** `shown`: `Survival:query`, as callers write it. */
  readonly namedPort: (NamedPort & { readonly shown: string }) | null;
}

/** A rule that an address shall have. Marks that are absent stay as the equal rule has them. */
export interface WantedRule extends RuleContent, Partial<RuleMarks> {}

export interface FilterContent {
  readonly type: string;
  readonly port: number;
  /** Absent: none, as of a group's filters. */
  readonly settings?: FilterSettings;
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

/** Rules that do the same have equal keys. */
export function ruleKey(rule: RuleContent): string {
  return `${rule.action} ${rule.protocol} ${rule.source ?? '*'} ${rule.port ?? '*'}`;
}

/** Rules that say the same have equal identities: a named port is the same whatever its number is now. */
export function ruleIdentity({ namedPort = null, ...rule }: RuleContent): string {
  if (namedPort === null) return ruleKey(rule);
  return `${ruleKey({ ...rule, port: null })} ${namedPort.server}:${namedPort.name}`;
}

/** The key of a filter, opaque to callers. */
export function filterKey(filter: FilterContent): string {
  return `${filter.type}:${filter.port}`;
}

/** Filters that do the same have equal identities. */
export function filterIdentity(filter: FilterContent): string {
  return [filterKey(filter), describeSettings(filter.settings ?? {})].filter(Boolean).join(', ');
}

/** The family of a canonical address or source: only those of IPv6 have a colon. */
export function familyOf(text: string | null): Family {
  return text?.includes(':') ? 6 : 4;
}
