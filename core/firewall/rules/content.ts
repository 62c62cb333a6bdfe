import { describeSettings, type FilterSettings } from '../../filters/settings.ts';
import type { Family } from '../../net/address.ts';
import type { Marks } from './marks.ts';
import type { RuleAction, RuleOf, RuleProtocol } from '../policy.ts';

/** A rule at one port, of an address, a group, a file or the operator. */
export interface RuleContent {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** Canonical, a single address without its length; null means any source. */
  readonly source: string | null;
  /** Null means any port, or one that only `namedPort` names. */
  readonly port: number | null;
  /** The name that `port` follows; null or absent: none. */
  readonly namedPort?: NamedPort | null;
}

/** A port of a game server by its name. */
export interface NamedPort {
  /** The uuid, or the name where a file names it. */
  readonly server: string;
  readonly name: string;
  /** `Survival:query`, as callers write it. */
  readonly shown?: string;
}

/** A rule to have. Marks that are absent stay as the equal rule has them. */
export interface WantedRule extends RuleContent, Partial<Marks> {}

export interface FilterContent {
  readonly type: string;
  readonly port: number;
  /** Absent: none, as a group's filters have none. */
  readonly settings?: FilterSettings;
}

/** A filter to have. Only those of groups have marks. */
export interface WantedFilter extends FilterContent, Partial<Marks> {}

/** A key that is equal for rules that do the same. */
export function ruleKey({
  action,
  protocol,
  source,
  port,
}: Omit<RuleOf<'ref' | 'action' | 'protocol' | 'port' | 'source'>, 'ref'>): string {
  return `${action} ${protocol} ${source ?? '*'} ${port ?? '*'}`;
}

/** A key that is equal for rules that say the same: a named port is the same whatever its number is now. */
export function ruleIdentity(rule: RuleContent): string {
  const { namedPort = null } = rule;
  if (namedPort === null) return ruleKey(rule);
  return `${ruleKey({ ...rule, port: null })} ${namedPort.server}:${namedPort.name}`;
}

/** The key of a filter, opaque to callers. */
export function filterKey({ type, port }: FilterContent): string {
  return `${type}:${port}`;
}

/** A key that is equal for filters that do the same. */
export function filterIdentity(filter: FilterContent): string {
  return [filterKey(filter), describeSettings(filter.settings ?? {})].filter(Boolean).join(', ');
}

/** The family of a canonical address or source: only those of IPv6 have a colon. */
export function familyOf(text: string | null): Family {
  return text?.includes(':') === true ? 6 : 4;
}

/** A rule with a source of the other family does not apply to an address. */
export function appliesTo({ source }: RuleContent, family: Family): boolean {
  return source === null || familyOf(source) === family;
}
