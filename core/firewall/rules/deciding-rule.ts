import { containsCidr, overlaps, parseCidr } from '../../net/cidr.ts';
import type { DefaultAction, RuleOf } from '../policy.ts';

type Match = Omit<RuleOf<'ref' | 'action' | 'protocol' | 'port' | 'source'>, 'ref'>;

/**
 * The rule that already decides every packet of a rule about to be added, so that adding it changes no
 * verdict; null where it may change one. One rule must cover it alone: several that cover it together are
 * not looked for.
 *
 * - Any allow decides before a deny.
 * - A deny of the same packets says the same.
 * - An allow of the same packets says the same, but an allow without a source is read after geo rules: it
 *   stands in for an allow that names a source only where no geo rule could come between.
 */
export function findDecidingRule<R extends Match>(
  existing: readonly R[],
  added: Match,
  hasGeoRules: boolean,
): R | null {
  const covering = existing.filter((rule) => covers(rule, added));
  const allow = covering.find(
    (rule) =>
      rule.action === 'allow' &&
      (added.action === 'deny' || rule.source !== null || added.source === null || !hasGeoRules),
  );
  if (allow !== undefined) return allow;
  if (added.action === 'allow') return null;
  return covering.find((rule) => rule.action === 'deny') ?? null;
}

/**
 * Whether adding a rule changes no verdict because the default already gives it: a deny under `deny` whose packets no allow
 * rule lets through, and an allow under `accept` that no deny rule and no geo rule overlaps. `rules`: all of the address.
 */
export function isDefaultAlready(
  added: Match,
  there: {
    readonly default: DefaultAction;
    readonly rules: readonly Match[];
    readonly hasGeoRules: boolean;
  },
): boolean {
  if (added.action === 'deny')
    return there.default === 'deny' && findDefeatingAllows(there.rules, added).length === 0;
  if (there.default === 'deny' || there.hasGeoRules) return false;
  return !there.rules.some((rule) => rule.action === 'deny' && overlap(rule, added));
}

/** Whether one packet could match both, were it for protocol and port. Thousands are compared, so sources are not. */
function overlap(a: Match, b: Match): boolean {
  if (a.protocol !== 'any' && b.protocol !== 'any' && a.protocol !== b.protocol) return false;
  return a.port === null || b.port === null || a.port === b.port;
}

/**
 * The allow rules through which packets still pass that a deny of one source would drop: every allow is read before any deny.
 */
export function findDefeatingAllows<R extends Match>(rules: readonly R[], deny: Match): R[] {
  if (deny.action !== 'deny' || deny.source === null) return [];
  const denied = parseCidr(deny.source);
  return rules.filter((rule) => {
    if (rule.action !== 'allow' || !overlap(rule, deny)) return false;
    if (rule.source === null) return true;
    const allowed = parseCidr(rule.source);
    return allowed.ok && denied.ok && overlaps(allowed.value, denied.value);
  });
}

/** Every packet that `inner` matches, `outer` matches too. */
export function covers(outer: Omit<Match, 'action'>, inner: Omit<Match, 'action'>): boolean {
  if (outer.protocol !== 'any' && outer.protocol !== inner.protocol) return false;
  if (outer.port !== null && outer.port !== inner.port) return false;
  if (outer.source === null) return true;
  if (inner.source === null) return false;
  const wide = parseCidr(outer.source);
  const narrow = parseCidr(inner.source);
  return wide.ok && narrow.ok && containsCidr(wide.value, narrow.value);
}
