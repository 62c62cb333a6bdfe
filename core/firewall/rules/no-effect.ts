import { formatNetwork, networkOf, parseCidr } from '../../net/cidr.ts';
import { portList } from '../../net/ports.ts';
import { findDecidingRule, findDefeatingAllows, isDefaultAlready } from './deciding-rule.ts';
import type { DefaultAction } from '../policy.ts';
import type { RuleContent } from './content.ts';
import { describeRule, describeRules } from './describe.ts';

/** A rule of an address, with the group that owns it. */
interface ThereRule extends RuleContent {
  readonly id: number;
  readonly group: { readonly name: string } | null;
}

/** Everything that decides on packets to an address beside new rules. */
interface There {
  readonly default: DefaultAction;
  readonly hasGeoRules: boolean;
  readonly rules: readonly ThereRule[];
}

/** The number of deciding rules that are named; `explain` shows the rest. */
const MAX_NAMED = 5;

/**
 * Returns a sentence for each existing rule that already decides all packets of new rules. The new rules are accepted,
 * because the deciding rule may be deleted later. `named`: new rules that the default makes pointless are named one by
 * one, for a plan of many; otherwise they are mentioned when all are.
 */
export function explainNewRules(
  there: There,
  added: readonly RuleContent[],
  { named = false }: { readonly named?: boolean } = {},
): string[] {
  return [
    ...explainByDefault(there, added, named),
    ...explainByRules(there, added),
    ...explainDefeated(there, added),
  ];
}

const BY_DEFAULT: Readonly<Record<DefaultAction, string>> = {
  deny: 'changes no verdict now: the default of the address is deny, so what no rule allows is dropped already.',
  accept:
    'changes no verdict now: what no rule matches is open too. Add a deny rule for any protocol, or set the default of the address to deny, to close it.',
};

/** Sentences on the new rules that change no verdict because the default gives it already. */
function explainByDefault(there: There, added: readonly RuleContent[], isNamed: boolean): string[] {
  const rules = [...there.rules, ...added];
  const pointless = (isNamed ? added.slice(0, MAX_COMPARED) : added).filter((rule) =>
    isDefaultAlready(rule, { ...there, rules }),
  );
  if (isNamed)
    return describeRules(pointless).map((rule) => `${rule} ${BY_DEFAULT[there.default]}`);
  const isAll = added.length > 0 && pointless.length === added.length;
  return isAll ? [`It ${BY_DEFAULT[there.default]}`] : [];
}

function explainByRules(there: There, added: readonly RuleContent[]): string[] {
  const byDecider = new Map<ThereRule, RuleContent[]>();
  const near = nearRules(there.rules);
  for (const rule of added) {
    const decider = findDecidingRule(near(rule), rule, there.hasGeoRules);
    if (decider !== null) byDecider.set(decider, [...(byDecider.get(decider) ?? []), rule]);
  }
  const named = [...byDecider].slice(0, MAX_NAMED);
  return named.map(([decider, rules]) => {
    const ports = [...new Set(rules.flatMap(({ port }) => port ?? []))].toSorted((a, b) => a - b);
    const what = ports.length === 0 ? 'It changes' : `On ${portList(ports)} it changes`;
    const owner =
      decider.group === null ? '' : ` of the firewall group ${JSON.stringify(decider.group.name)}`;
    return `${what} no verdict now: rule ${decider.id}${owner} (${describeRule(decider)}) decides first.`;
  });
}

/** More new rules are not compared, because a replacement may have thousands. */
const MAX_COMPARED = 100;

/** Traffic that still passes from a source that a new rule denies, because an allow rule is read first. */
function explainDefeated(there: There, added: readonly RuleContent[]): string[] {
  const bySource = new Map<string, Set<string>>();
  const rules: readonly RuleContent[] = [...there.rules, ...added];
  for (const deny of added.slice(0, MAX_COMPARED)) {
    for (const { protocol, port } of findDefeatingAllows(rules, deny)) {
      const source = deny.source ?? '';
      const open = protocol === 'any' ? deny : { protocol, port: port ?? deny.port };
      const shown = open.port === null ? open.protocol : `${open.protocol} ${open.port}`;
      bySource.set(source, (bySource.get(source) ?? new Set()).add(shown));
    }
  }
  return [...bySource].slice(0, MAX_NAMED).map(([source, open]) => {
    const named = [...open].slice(0, MAX_NAMED).join(', ');
    const more = open.size > MAX_NAMED ? ` and ${open.size - MAX_NAMED} more` : '';
    return `Packets from ${source} still pass to ${named}${more}: allow rules are read before every deny. To drop those too, block the source (POST /api/x1/firewall/blocked, or portcullis firewall block ${source}).`;
  });
}

/**
 * Finds the rules that could cover a rule by an index on what they match: a replacement may compare thousands of rules
 * with thousands, which would block the event loop.
 */
function nearRules(rules: readonly ThereRule[]): (rule: RuleContent) => readonly ThereRule[] {
  const byMatch = Map.groupBy(rules, ({ protocol, port, source }) => match(protocol, port, source));
  const lengths = new Set(rules.flatMap(({ source }) => lengthOf(source) ?? []));
  return ({ protocol, port, source }) => {
    const sources = [null, ...containing(source, lengths)];
    const found = sources.flatMap((from) =>
      [
        ...new Set([
          match('any', null, from),
          match(protocol, null, from),
          match(protocol, port, from),
        ]),
      ].flatMap((name) => byMatch.get(name) ?? []),
    );
    return found.toSorted((a, b) => a.id - b.id);
  };
}

function match(protocol: string, port: number | null, source: string | null): string {
  return `${protocol} ${port} ${source}`;
}

/** The source and its containing networks, of the lengths in use. */
function containing(source: string | null, lengths: ReadonlySet<number>): string[] {
  const cidr = source === null ? null : parseCidr(source);
  if (!cidr?.ok) return [];
  const wider = [...lengths].filter((length) => length <= cidr.value.length);
  return wider.map((length) => formatNetwork(networkOf(cidr.value, length)));
}

function lengthOf(source: string | null): number | null {
  const cidr = source === null ? null : parseCidr(source);
  return cidr?.ok ? cidr.value.length : null;
}
