import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { ruleDrop } from '../table/drop-counters.ts';
import { mitigationStatements } from './mitigations.ts';
import { compileFilters, DEFAULT_FILTERING, type Filtering } from '../filters/compile.ts';
import type { Chain, CompiledTarget, Element, SourceSetUnion } from './compiled.ts';
import {
  isSingle,
  type MatchRule,
  networkFrom,
  orderedRules,
  type Outcome,
  setsReason,
  type SourceMatch,
} from '../../compile/match.ts';
import {
  contentName,
  dispatchMap,
  dispatchStatement,
  IP,
  protocolName,
  sourceMapName,
  sourceStatement,
} from '../names.ts';
import { isNamed, sourceKeys, unnamedSource } from './named-sources.ts';
import {
  type Branch,
  type LevelledRule,
  type Lookup,
  lookupName,
  lookupOf,
  planTree,
  prune,
  type Tree,
} from '../../compile/program.ts';

/** Compiles one policy. Throws `PolicyError` on values that a parser should have rejected. */
export function compilePolicy(
  policy: Policy,
  filtering: Filtering = DEFAULT_FILTERING,
): CompiledTarget {
  const cidr = networkFrom(policy.target);
  const rules = orderedRules(policy, cidr.family);
  const chains = new Map<string, Chain>();
  const add = (kind: string, statements: readonly string[]): string =>
    addChain(kind, chains, { statements, sets: [], maps: [] });
  const filters = compileFilters(policy, cidr, filtering, add);
  const context: Context = {
    family: cidr.family,
    chains,
    verdicts: verdictsOf(filters.accept),
    mitigations: mitigationStatements(policy, cidr.family, filtering, (statements) =>
      add('observing', statements),
    ),
  };
  const { elements, sources, prefixChain } = isSingle(cidr)
    ? { ...compileAddress(cidr, rules, context), prefixChain: null }
    : { elements: [], sources: [], prefixChain: compilePrefix(rules, context) };
  return {
    target: policy.target,
    cidr,
    elements: [...elements, ...filters.elements],
    prefixChain,
    sources,
    filters: filters.target,
    chains,
  };
}

interface Context {
  readonly family: Family;
  readonly chains: Map<string, Chain>;
  /** The verdict of each outcome of the rules. With filters, accepted packets go on to the filters. */
  readonly verdicts: Readonly<Record<Outcome, string>>;
  /** The statements before the rules. */
  readonly mitigations: readonly string[];
}

function verdictsOf(accept: string): Context['verdicts'] {
  return { accept, drop: ruleDrop('denied') };
}

function compileAddress(
  cidr: Cidr,
  rules: readonly MatchRule[],
  context: Context,
): Pick<CompiledTarget, 'elements' | 'sources'> {
  const { family } = cidr;
  const tree = planTree(rules);
  const address = formatAddress(cidr);
  const verdict = (branch: Branch): string => branchVerdict(branch, context);
  const elements = [
    ...tree.ports.map((branch) => ({
      map: dispatchMap('port', family),
      // `join` makes a flat string; a template keeps its parts, and there are hundreds of thousands of keys.
      key: [address, protocolName(branch.protocol), branch.port].join(' . '),
      verdict: verdict(branch),
    })),
    // Needed even if it only accepts: otherwise a containing prefix would match.
    {
      map: dispatchMap('address', family),
      key: address,
      verdict: mitigated(addressVerdict(tree, context), context),
    },
    ...tree.lookedUp.flatMap((rule) => sourceElement(address, rule, context)),
  ];
  const sources = tree.lookedUp.flatMap(({ rule: { source } }) =>
    source?.kind === 'network' ? sourceKeys(source.cidr) : [],
  );
  return { elements, sources: [...new Set(sources)] };
}

function mitigated(verdict: string, { mitigations, chains }: Context): string {
  if (mitigations.length === 0) return verdict;
  return goto('mitigated', chains, { statements: [...mitigations, verdict], sets: [], maps: [] });
}

function sourceElement(
  address: string,
  levelled: LevelledRule,
  { family, verdicts }: Context,
): Element[] {
  const { rule } = levelled;
  const lookup = lookupOf(levelled);
  if (lookup.kind !== 'keyed' || rule.source?.kind !== 'network') return [];
  const fields = [
    address,
    ...(rule.protocol === null ? [] : [protocolName(rule.protocol)]),
    ...(rule.port === null ? [] : [String(rule.port)]),
    formatAddress(rule.source.cidr),
  ];
  const map = sourceMapName({ family, ...lookup });
  return [{ map, key: fields.join(' . '), verdict: verdicts[rule.outcome] }];
}

/**
 * The verdict after the address lookup. It contains only the lookups that the rules of the address need, because
 * lookups dominate the cost of a packet. Protocols are few, so they are compared without a lookup.
 */
function addressVerdict(tree: Tree, context: Context): string {
  const protocols = tree.protocols.map(
    (branch) => `meta l4proto ${protocolName(branch.protocol)} ${branchVerdict(branch, context)}`,
  );
  return branchVerdict(tree.rest, context, [...portStatements(tree, context.family), ...protocols]);
}

function portStatements({ ports }: Tree, family: Family): string[] {
  const [first, ...others] = ports;
  if (first === undefined) return [];
  const lookup = dispatchStatement('port', family);
  const one = others.every(({ protocol }) => protocol === first.protocol);
  return [one ? `meta l4proto ${protocolName(first.protocol)} ${lookup}` : lookup];
}

function branchVerdict(
  branch: Branch,
  { family, chains, verdicts }: Context,
  before: readonly string[] = [],
): string {
  const otherwise = verdicts[branch.outcome];
  if (before.length + branch.lookups.length === 0) return otherwise;
  const lookups = branch.lookups.map(lookupName);
  const key = [family, otherwise, ...before, ...lookups].join('\n');
  const shape = shapes.get(key) ?? cacheShape(key, shapeOf(branch, family, before, otherwise));
  chains.set(shape.name, shape.chain);
  return shape.verdict;
}

interface Shape {
  readonly name: string;
  readonly chain: Chain;
  readonly verdict: string;
}

function shapeOf(
  branch: Branch,
  family: Family,
  before: readonly string[],
  otherwise: string,
): Shape {
  const steps = branch.lookups.map((lookup) => lookupStep(lookup, family));
  const shortcut = usesNamedSources(branch, family)
    ? [`${unnamedSource(family)} ${otherwise}`]
    : [];
  const chain = {
    statements: [...before, ...shortcut, ...steps.map((step) => step.statement), otherwise],
    sets: steps.flatMap((step) => step.sets),
    maps: steps.flatMap((step) => step.maps),
  };
  const name = chainName('shape', chain);
  return { name, chain, verdict: `goto ${name}` };
}

/** A cache by content: most addresses have one of a few shapes and share these objects. */
const shapes = new Map<string, Shape>();
const MAX_SHAPES = 1000;

function cacheShape(key: string, shape: Shape): Shape {
  if (shapes.size >= MAX_SHAPES) shapes.clear();
  shapes.set(key, shape);
  return shape;
}

/**
 * Whether the branch looks up only sources that are in the set of named sources. Then packets of unnamed sources skip
 * the lookups.
 */
function usesNamedSources({ lookups }: Branch, family: Family): boolean {
  return (
    lookups.length > 0 &&
    lookups.every((lookup) => lookup.kind === 'keyed' && isNamed(family, lookup.length))
  );
}

interface Step {
  readonly statement: string;
  readonly sets: readonly SourceSetUnion[];
  readonly maps: readonly string[];
}

function lookupStep(lookup: Lookup, family: Family): Step {
  if (lookup.kind === 'sets') {
    const setMatch = setLookup({ ...lookup, kind: 'sets' }, family);
    const drop = ruleDrop(setsReason(lookup));
    return { statement: `${setMatch.match} ${drop}`, sets: [setMatch.union], maps: [] };
  }
  const map = { family, ...lookup };
  return { statement: sourceStatement(map), sets: [], maps: [sourceMapName(map)] };
}

/** Prefixes have few rules, so they compile to one chain that is evaluated in order. Equal policies share it. */
function compilePrefix(rules: readonly MatchRule[], context: Context): string {
  const { kept, fallback } = prune(rules);
  const { chains } = context;
  const steps = [...kept, fallback].map((rule) => linearStep(rule, context));
  return addChain('prefix', chains, {
    statements: [...context.mitigations, ...steps.map((step) => step.statement)],
    sets: steps.flatMap((step) => step.sets),
    maps: [],
  });
}

function linearStep(rule: MatchRule, { family, verdicts }: Context): Step {
  const matches: string[] = [];
  const sets: SourceSetUnion[] = [];
  if (rule.source?.kind === 'network') {
    const { cidr } = rule.source;
    const length = isSingle(cidr) ? '' : `/${cidr.length}`;
    matches.push(`${IP[family]} saddr ${formatAddress(cidr)}${length}`);
  } else if (rule.source !== null) {
    const { match, union } = setLookup(rule.source, family);
    matches.push(match);
    sets.push(union);
  }
  if (rule.protocol !== null) matches.push(`meta l4proto ${protocolName(rule.protocol)}`);
  if (rule.port !== null) matches.push(`th dport ${rule.port}`);
  const verdict =
    rule.source?.kind === 'sets' ? ruleDrop(setsReason(rule.source)) : verdicts[rule.outcome];
  return { statement: [...matches, verdict].join(' '), sets, maps: [] };
}

function setLookup(
  source: Extract<SourceMatch, { kind: 'sets' }>,
  family: Family,
): { match: string; union: SourceSetUnion } {
  // Named by the names of the source sets: new data changes the set, and none of its references.
  const name = contentName(`geo${family}`, source.names.join());
  const not = source.inside ? '' : '!= ';
  return {
    match: `${IP[family]} saddr ${not}@${name}`,
    union: { name, family, names: source.names },
  };
}

function goto(kind: string, chains: Map<string, Chain>, chain: Chain): string {
  return `goto ${addChain(kind, chains, chain)}`;
}

function addChain(kind: string, chains: Map<string, Chain>, chain: Chain): string {
  const name = chainName(kind, chain);
  chains.set(name, chain);
  return name;
}

function chainName(kind: string, { statements }: Chain): string {
  return contentName(kind, statements.join('\n'));
}
