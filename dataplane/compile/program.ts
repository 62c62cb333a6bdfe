import { type MatchRule, type Outcome, overlapping, PolicyError, unconditional } from './match.ts';
import { coversAmong, overlapsAmong } from './rule-index.ts';

/**
 * The rules of one address as a tree of hash look-ups.
 *
 * A first-match list is turned into look-ups that need no order inside a *level*: a rule stands one level
 * after every earlier rule that overlaps it and says the opposite. Where two rules match one packet and
 * disagree, the earlier one of the list therefore has the lower level; so the lowest level that matches
 * says what the list says.
 */
export interface Tree {
  /** Chosen by destination port and protocol, with look-ups of the source before `outcome` if needed. */
  readonly ports: readonly (Branch & { readonly protocol: number; readonly port: number })[];
  readonly protocols: readonly (Branch & { readonly protocol: number })[];
  /** Everything else. */
  readonly rest: Branch;
  /** The rules that some branch looks up by their source. */
  readonly lookedUp: readonly LevelledRule[];
}

export interface Branch {
  /** In the order of evaluation. */
  readonly lookups: readonly Lookup[];
  readonly outcome: Outcome;
}

/** The fields besides the destination that key a look-up. `sets`: membership of source sets instead of a key. */
export type Lookup =
  | {
      readonly kind: 'keyed';
      readonly fields: Fields;
      readonly length: number;
      readonly level: number;
    }
  | {
      readonly kind: 'sets';
      readonly names: readonly string[];
      readonly inside: boolean;
      readonly level: number;
    };
export type Fields = 'port' | 'protocol' | 'any';

export interface LevelledRule {
  readonly rule: MatchRule;
  readonly level: number;
}

/** More steps (a few seconds) would block the edge for a single address. */
const MAX_STEPS = 50_000_000;

/** `rules`: the first match decides, and the default is to accept. Throws `PolicyError` if that takes too long. */
export function planTree(rules: readonly MatchRule[]): Tree {
  const { kept, fallback } = prune(rules);
  const levelled = intoLevels([...kept, fallback]).map(indexed);
  const lookedUp = new Set<LevelledRule>();
  const matching = matcher(levelled);
  const branch = (key: Key): Branch => evaluate(matching(key), lookedUp);

  const rest = branch({ protocol: null, port: null });
  const protocols = distinct(levelled, (rule) => rule.protocol !== null && rule.port === null)
    .map(({ protocol }) => ({ protocol, ...branch({ protocol, port: null }) }))
    .filter((one) => !same(one, rest));
  const ports = distinct(levelled, (rule) => rule.port !== null)
    .map(({ protocol, port }) => ({
      protocol,
      port: port as number,
      ...branch({ protocol, port }),
    }))
    .filter(
      (one) => !same(one, protocols.find((wider) => wider.protocol === one.protocol) ?? rest),
    );
  return { ports, protocols, rest, lookedUp: [...lookedUp] };
}

/**
 * Removes rules that cannot change a verdict: all after a rule without conditions, those that an earlier rule covers,
 * and those with the verdict that later rules give anyway.
 */
export function prune(rules: readonly MatchRule[]): { kept: MatchRule[]; fallback: MatchRule } {
  const end = rules.findIndex(unconditional);
  const outcome = rules[end]?.outcome ?? 'accept';
  const fallback: MatchRule = { outcome, protocol: null, port: null, source: null };
  const earlier = coversAmong(rules);
  const reached = (end < 0 ? rules : rules.slice(0, end)).filter((rule) => {
    if (earlier.covers(rule)) return false;
    earlier.add(rule);
    return true;
  });
  const opposite = overlapsAmong(rules);
  const kept = withoutRedundant(reached, outcome, {
    add: (rule) => opposite.add(rule, 0),
    overlaps: (rule) => opposite.highest(rule) === 0,
  });
  return { kept, fallback };
}

/** Rules with the opposite outcome. A few are compared faster than indexed. */
interface OppositeRules {
  add(rule: MatchRule): void;
  overlaps(rule: MatchRule): boolean;
}

function oppositeList(): OppositeRules {
  const rules: MatchRule[] = [];
  return {
    add: (rule) => void rules.push(rule),
    overlaps: (rule) => rules.some((later) => overlapping(later, rule)),
  };
}

function withoutRedundant(
  rules: readonly MatchRule[],
  outcome: Outcome,
  opposite: OppositeRules,
): MatchRule[] {
  const kept: MatchRule[] = [];
  for (const rule of rules.toReversed()) {
    if (rule.outcome !== outcome) opposite.add(rule);
    else if (!opposite.overlaps(rule)) continue;
    kept.push(rule);
  }
  return kept.toReversed();
}

export function intoLevels(rules: readonly MatchRule[]): LevelledRule[] {
  const earlier = { accept: overlapsAmong(rules), drop: overlapsAmong(rules) };
  return rules.map((rule) => {
    const opposite = rule.outcome === 'accept' ? 'drop' : 'accept';
    const level = Math.max(0, earlier[opposite].highest(rule) + 1);
    earlier[rule.outcome].add(rule, level);
    return { rule, level: level };
  });
}

/** A rule with values that every port of the address would compute again. */
interface IndexedRule extends LevelledRule {
  readonly index: number;
  readonly lookup: Lookup | null;
  readonly name: string;
}

function indexed(levelled: LevelledRule, index: number): IndexedRule {
  const lookup = levelled.rule.source === null ? null : lookupOf(levelled);
  return { ...levelled, index, lookup, name: lookup === null ? '' : lookupName(lookup) };
}

/** Equal look-ups have equal names. */
export function lookupName(lookup: Lookup): string {
  return lookup.kind === 'keyed'
    ? `${lookup.fields} ${lookup.length} ${lookup.level}`
    : `${lookup.inside ? 'in' : 'out'} ${lookup.names.join()} ${lookup.level}`;
}

interface Key {
  readonly protocol: number | null;
  readonly port: number | null;
}

/** The rules that packets of a protocol and port can match, in order. */
function matcher(rules: readonly IndexedRule[]): (key: Key) => readonly IndexedRule[] {
  const ofPort = new Map<number, IndexedRule[]>();
  for (const one of rules) {
    const { protocol, port } = one.rule;
    if (protocol === null || port === null) continue;
    const same = ofPort.get(portKey(protocol, port));
    if (same === undefined) ofPort.set(portKey(protocol, port), [one]);
    else same.push(one);
  }
  const ofProtocol = new Map<number | null, readonly IndexedRule[]>();
  const reached = (protocol: number | null): readonly IndexedRule[] => {
    const known = ofProtocol.get(protocol);
    if (known !== undefined) return known;
    const found = portless(rules, protocol);
    if (found.length * ofPort.size > MAX_STEPS) {
      throw new PolicyError(
        `its rules name ${ofPort.size} ports beside ${found.length - 1} sources for any port, which takes too long to compile: name fewer of either`,
      );
    }
    ofProtocol.set(protocol, found);
    return found;
  };
  return ({ protocol, port }) => {
    const narrow =
      protocol === null || port === null ? undefined : ofPort.get(portKey(protocol, port));
    return narrow === undefined ? reached(protocol) : mergeInOrder(reached(protocol), narrow);
  };
}

/** Rules without a port, up to the first without a source. */
function portless(rules: readonly IndexedRule[], protocol: number | null): IndexedRule[] {
  const found: IndexedRule[] = [];
  for (const one of rules) {
    const { rule } = one;
    if (rule.port !== null || (rule.protocol !== null && rule.protocol !== protocol)) continue;
    found.push(one);
    if (rule.source === null) break;
  }
  return found;
}

/** Merges two ordered lists. */
function mergeInOrder(some: readonly IndexedRule[], others: readonly IndexedRule[]): IndexedRule[] {
  const merged: IndexedRule[] = [];
  let at = 0;
  for (const one of some) {
    while (at < others.length && (others[at] as IndexedRule).index < one.index)
      merged.push(others[at++] as IndexedRule);
    merged.push(one);
  }
  for (; at < others.length; at++) merged.push(others[at] as IndexedRule);
  return merged;
}

function portKey(protocol: number, port: number | null): number {
  return protocol * 65_537 + (port === null ? 65_536 : port);
}

/** The rest of the list for packets of one protocol and port: look-ups of the source, then an outcome. */
function evaluate(matching: readonly IndexedRule[], lookedUp: Set<LevelledRule>): Branch {
  const end = matching.findIndex(({ rule }) => rule.source === null);
  const terminal = matching[end] as IndexedRule;
  const { outcome } = terminal.rule;
  if (end === 0) return { lookups: NO_LOOKUPS, outcome };
  const before = matching.slice(0, end);
  const rules = before.map(({ rule }) => rule);
  const needed = new Set(withoutRedundant(rules, outcome, oppositeList()));
  const lookups = new Map<string, Lookup>();
  for (const one of before) {
    // From the terminal's level on, no disagreeing rule can precede an equal verdict.
    if (!needed.has(one.rule) || one.level >= terminal.level) continue;
    lookedUp.add(one);
    if (one.lookup !== null) lookups.set(one.name, one.lookup);
  }
  return { lookups: [...lookups.values()].toSorted(inOrder), outcome };
}

const NO_LOOKUPS: readonly Lookup[] = [];

export function lookupOf({ rule, level }: LevelledRule): Lookup {
  const { source } = rule;
  if (source === null) throw new Error('a rule without a source is no look-up on the source');
  if (source.kind === 'sets') return { ...source, level };
  const fields = rule.port !== null ? 'port' : rule.protocol !== null ? 'protocol' : 'any';
  return { kind: 'keyed', fields, length: source.cidr.length, level };
}

/** Any order inside a level gives the same verdicts. A fixed order lets equal programs share a chain. */
function inOrder(a: Lookup, b: Lookup): number {
  if (a.level !== b.level) return a.level - b.level;
  if (a.kind === 'keyed' && b.kind === 'keyed') {
    if (a.fields !== b.fields) return a.fields < b.fields ? 1 : -1;
    return b.length - a.length;
  }
  if (a.kind !== b.kind) return a.kind === 'keyed' ? -1 : 1;
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

function same(a: Branch, b: Branch): boolean {
  const { lookups } = b;
  return (
    a.outcome === b.outcome &&
    a.lookups.length === lookups.length &&
    a.lookups.every((one, at) => lookupName(one) === lookupName(lookups[at] as Lookup))
  );
}

function distinct(
  rules: readonly LevelledRule[],
  wanted: (rule: MatchRule) => boolean,
): { protocol: number; port: number | null }[] {
  const found = new Map<number, { protocol: number; port: number | null }>();
  for (const { rule } of rules) {
    if (rule.protocol === null || !wanted(rule)) continue;
    const key = portKey(rule.protocol, rule.port);
    if (!found.has(key)) found.set(key, { protocol: rule.protocol, port: rule.port });
  }
  return [...found.values()].toSorted(
    (a, b) => a.protocol - b.protocol || (a.port ?? 0) - (b.port ?? 0),
  );
}
