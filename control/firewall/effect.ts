import { describeRule } from '@portcullis/core/firewall/explain.ts';
import { findDecidingRule } from '@portcullis/core/firewall/no-effect.ts';
import { portList } from './messages.ts';
import type { AddressState, RuleContent, StoredRule } from './objects.ts';

/** So many deciding rules are named; the rest is for `explain`. */
const NAMED = 5;

/**
 * A sentence for each rule that already decides all packets of new ones, which therefore change no verdict.
 * They are accepted all the same: the deciding rule may go one day.
 */
export function explainNewRules(
  there: Pick<AddressState, 'rules' | 'hasGeoRules'>,
  added: readonly RuleContent[],
): string[] {
  const byDecider = new Map<StoredRule, RuleContent[]>();
  for (const rule of added) {
    const decider = findDecidingRule(there.rules, rule, there.hasGeoRules);
    if (decider !== null) byDecider.set(decider, [...(byDecider.get(decider) ?? []), rule]);
  }
  const named = [...byDecider].slice(0, NAMED);
  return named.map(([decider, rules]) => {
    const ports = [...new Set(rules.flatMap(({ port }) => port ?? []))].toSorted((a, b) => a - b);
    const what = ports.length === 0 ? 'It changes' : `On ${portList(ports)} it changes`;
    const owner =
      decider.group === null ? '' : ` of the firewall group ${JSON.stringify(decider.group.name)}`;
    return `${what} no verdict now: rule ${decider.id}${owner} (${describeRule(decider)}) decides first.`;
  });
}
