import type { Family } from '@portcullis/core/net/address.ts';
import { type RenderedChain } from '../chain.ts';
import { renderBaseChains, renderLimits } from './base-chain.ts';
import type { Chain, CompiledTarget, Element } from '../policy/compiled.ts';
import type { Change, MapChange } from '../driver.ts';
import { declareFilterState } from '../filters/state.ts';
import { FAMILIES, type Layout, type SourceSetContent } from './layout.ts';
import type { Interval } from '../policy/intervals.ts';
import { changedKeys } from '../../compile/changed-keys.ts';
import { NAMED_SOURCES, SOURCE_FIELD } from '../policy/named-sources.ts';
import {
  ADDRESS_TYPE,
  CONNECTIONS_TABLE,
  COUNTER_TABLE,
  dataType,
  keyType,
  PASSED_TABLE,
  TABLE,
  VERDICT_MAPS,
  verdictMapOf,
} from '../names.ts';
import { sourcesOf } from './reference-counts.ts';
import { verdictChanges } from './verdict-numbers.ts';

/**
 * The declared sizes of maps. The kernel allocates a hash table of that size once. So a map that exceeds it is created
 * again by a rewrite of the whole table, with twice the elements as its size.
 */
export type Sizes = ReadonlyMap<string, number>;

export interface RenderedWhole {
  readonly text: string;
  readonly sizes: Sizes;
}

const SMALLEST_MAP = 128;
/** The number of verdicts for which there is capacity from the start: few need a whole rewrite then. */
const MIN_VERDICTS = 600;
/** The largest load factor of the kernel's hash table. */
const MAX_LOAD = 0.75;
/** Spare capacity. A larger table would use the CPU caches less well. */
const SPARE_RATIO = 1.2;
const ELEMENTS_PER_COMMAND = 4096;

/**
 * Renders the whole table as one transaction. `add` makes the `delete` valid if the table is absent. Learned elements
 * are lost.
 */
export function renderWhole(layout: Layout): RenderedWhole {
  const sizes = new Map([...layout.counts].map(([map, count]) => [map, sizeOf(map, count)]));
  const head = [`add table ${TABLE}`, `delete table ${TABLE}`];
  return { text: linesOf([...head, ...tableBlock(layout, sizes), ...fillAll(layout)]), sizes };
}

/** Declares every object, and the rules of every chain. Declaring an existing object again has no effect. */
export function tableBlock(layout: Layout, sizes: Sizes): string[] {
  const body = [
    ...renderLimits(layout.rules),
    ...FAMILIES.flatMap((family) => declareFilterState(family, layout.rules.validatedSources)),
    ...[...layout.sets.values()].flatMap(declareSet),
    ...FAMILIES.flatMap(declareNamedSources),
    ...[...sizes].toSorted(byName).flatMap(([map, size]) => declareMap(map, size)),
    ...[...layout.prefixes.keys()].flatMap(declarePrefixMap),
    ...[...layout.chains]
      .toSorted(byName)
      .flatMap(([name, { hook, statements }]) =>
        chainBlock({ name, statements: hook === undefined ? statements : [hook, ...statements] }),
      ),
    ...renderBaseChains(layout.rules).flatMap(chainBlock),
  ];
  return [`table ${TABLE} {`, ...body.map((line) => (line === '' ? line : `\t${line}`)), '}'];
}

export function fillAll(layout: Layout): string[] {
  return [
    ...fillSets(layout),
    ...FAMILIES.flatMap((family) => fillNamedSources(layout, family)),
    ...elementCommands(verdictElements(layout)),
    ...addElements(
      [...layout.targets.values()].flatMap((target) => target.elements),
      layout,
    ),
    ...[...layout.prefixes].flatMap(([map, intervals]) => addPrefixes(map, intervals)),
  ];
}

/** The argument of `Driver.change`, and the sizes of the maps after it. */
export interface RenderedDelta extends Change {
  readonly sizes: Sizes;
}

/** Renders the whole table in parts, so that the writer can let other work run between them. */
export function renderWholeParts(layout: Layout): { parts: Iterable<string>; sizes: Sizes } {
  const { text, sizes } = renderWhole({ ...layout, targets: new Map() });
  const elements = function* (): Generator<string> {
    yield text;
    let some: Element[] = [];
    for (const target of layout.targets.values()) {
      for (const element of target.elements) some.push(element);
      if (some.length < ELEMENTS_PER_COMMAND) continue;
      yield linesOf(addElements(some, layout));
      some = [];
    }
    if (some.length > 0) yield linesOf(addElements(some, layout));
  };
  return { parts: elements(), sizes };
}

/**
 * Renders the changes from one layout to another as one transaction: new maps and chains first, unused ones last.
 * Returns null if only a whole rewrite is possible (changed stages or limits, a map that exceeds its size). `changed`
 * names the targets that may differ. The text is empty if nothing differs.
 */
export function renderDelta(
  before: Layout,
  after: Layout,
  changed: Iterable<string>,
  sizes: Sizes,
): RenderedDelta | null {
  const base = baseChanges(before, after);
  const nextSizes = sizesAfter(sizes, after);
  const verdicts = verdictsBetween(before, after);
  if (base === null || nextSizes === null || verdicts === null) return null;
  const refilled = refillSets(before, after);
  const prepare = linesOf([
    ...newIn(after.sets, before.sets).flatMap(([name, set]) => [
      `add set ${TABLE} ${name} { ${setType(set)} }`,
      ...fillSet(name, set),
    ]),
    ...newIn(nextSizes, sizes).map(
      ([map, size]) => `add map ${TABLE} ${map} { ${mapType(map, size)} }`,
    ),
    ...refilled,
    ...addChains(newIn(after.chains, before.chains)),
    ...elementCommands(verdicts.map((change) => ({ ...change, removed: [] }))),
  ]);
  const elements = [
    ...elementChanges(before, after, changed),
    ...FAMILIES.flatMap((family) => sourceChanges(before, after, family)),
    ...[...after.prefixes].flatMap(([map, intervals]) =>
      replacePrefixes(map, before.prefixes.get(map) ?? [], intervals),
    ),
  ];
  const dead = newIn(before.chains, after.chains);
  const cleanup = linesOf([
    ...elementCommands(verdicts.map((change) => ({ ...change, added: [] }))),
    // All rules are deleted before the first chain, because chains refer to each other.
    ...dead.map(([name]) => `flush chain ${TABLE} ${name}`),
    ...dead.map(([name]) => `delete chain ${TABLE} ${name}`),
    ...newIn(sizes, nextSizes).map(([map]) => `delete map ${TABLE} ${map}`),
    ...newIn(before.sets, after.sets).map(([name]) => `delete set ${TABLE} ${name}`),
  ]);
  // Existing chains use the refilled sets, and packets pass through base chains and hooks.
  const hooked = newIn(after.chains, before.chains).some(([, { hook }]) => hook !== undefined);
  const steps =
    refilled.length > 0 || base.length > 0 || hooked ? null : { prepare, elements, cleanup };
  const text = [prepare, linesOf([...elementCommands(elements), ...base]), cleanup].join('');
  return { text, steps, sizes: nextSizes };
}

/** The sizes for the new elements; null if a map exceeds its size. */
function sizesAfter(sizes: Sizes, { counts }: Layout): Sizes | null {
  const next = new Map(sizes);
  for (const [map, count] of counts) {
    const size = sizes.get(map) ?? sizeOf(map, count);
    if (count > size) return null;
    next.set(map, size);
  }
  for (const map of next.keys()) if (!counts.has(map)) next.delete(map);
  return next;
}

/** Adds all chains before their rules, because chains refer to each other. */
function addChains(chains: readonly [string, Chain][]): string[] {
  return [
    ...chains.map(([name, { hook }]) =>
      [`add chain ${TABLE} ${name}`, ...(hook === undefined ? [] : [`{ ${hook} }`])].join(' '),
    ),
    ...chains.flatMap(([name, { statements }]) =>
      statements.map((statement) => `add rule ${TABLE} ${name} ${statement}`),
    ),
  ];
}

export function linesOf(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Refills base chains, for example after a device was renamed. Returns null if more has changed. */
function baseChanges(before: Layout, after: Layout): string[] | null {
  if (JSON.stringify(before.rules) === JSON.stringify(after.rules)) return [];
  if (renderLimits(before.rules).join() !== renderLimits(after.rules).join()) return null;
  const [old, now] = [renderBaseChains(before.rules), renderBaseChains(after.rules)];
  const shape = (chains: readonly RenderedChain[]): string =>
    chains.map((chain) => `${chain.name} ${hookOf(chain)}`).join();
  if (shape(old) !== shape(now)) return null;
  const hooks = [...after.chains].flatMap(([name, { hook, statements }]) =>
    hook === undefined || !before.chains.has(name) ? [] : [{ name, statements }],
  );
  const was = new Map([...old, ...namedChains(before)].map((chain) => [chain.name, chain]));
  return [...now, ...hooks]
    .filter(({ name, statements }) => statements.join() !== was.get(name)?.statements.join())
    .flatMap((chain) => [
      `flush chain ${TABLE} ${chain.name}`,
      ...chain.statements
        .filter((statement) => statement !== hookOf(chain))
        .map((statement) => `add rule ${TABLE} ${chain.name} ${statement}`),
    ]);
}

function hookOf({ statements: [first = ''] }: RenderedChain): string {
  return first.startsWith('type ') ? first : '';
}

function namedChains({ chains }: Layout): RenderedChain[] {
  return [...chains].map(([name, { statements }]) => ({ name, statements }));
}

/** Deletes elements in all maps before it adds any, because a key may change its verdict. */
export function elementCommands(changes: readonly MapChange[]): string[] {
  const command = (verb: string, map: string, entries: readonly string[]): string[] =>
    batches(entries).map((batch) => {
      const list = batch.length === 1 ? ` ${batch[0]} ` : `\n\t${batch.join(',\n\t')}\n`;
      return `${verb} element ${TABLE} ${map} {${list}}`;
    });
  return [
    ...changes.flatMap(({ map, removed }) => command('delete', map, removed)),
    ...changes.flatMap(({ map, flush }) => (flush === true ? [`flush map ${TABLE} ${map}`] : [])),
    ...changes.flatMap(({ map, added }) =>
      command(
        'add',
        map,
        added.map(([key, verdict]) => (verdict === null ? key : `${key} : ${verdict}`)),
      ),
    ),
  ];
}

/** Removes our tables. Valid whether they exist or not. */
export const REMOVE_TABLES = [TABLE, COUNTER_TABLE, PASSED_TABLE, CONNECTIONS_TABLE]
  .map((table) => `add table ${table}\ndelete table ${table}\n`)
  .join('');

function elementChanges(before: Layout, after: Layout, changed: Iterable<string>): MapChange[] {
  const changes = new Map<string, { map: string; removed: string[]; added: [string, string][] }>();
  const of = (map: string): { removed: string[]; added: [string, string][] } => {
    const change = changes.get(map) ?? { map, removed: [], added: [] };
    changes.set(map, change);
    return change;
  };
  for (const target of changed) {
    const old = elementsByKey(before.targets.get(target));
    const now = elementsByKey(after.targets.get(target));
    for (const [id, { map, key, verdict }] of old) {
      // A verdict has the same number before and after.
      if (now.get(id)?.verdict !== verdict) of(map).removed.push(key);
    }
    for (const [id, element] of now) {
      if (old.get(id)?.verdict === element.verdict) continue;
      of(element.map).added.push([element.key, valueOf(element, after)]);
    }
  }
  return [...changes.values()].toSorted((a, b) => (a.map < b.map ? -1 : 1));
}

function sourceChanges(
  { references: before }: Layout,
  { references: after }: Layout,
  family: Family,
): MapChange[] {
  const changed = changedKeys(before.sources, after.sources);
  const [removed, added] = [
    sourcesOf(
      family,
      changed.filter((name) => !after.sources.has(name)),
    ),
    sourcesOf(
      family,
      changed.filter((name) => !before.sources.has(name)),
    ),
  ];
  if (removed.length + added.length === 0) return [];
  const map = NAMED_SOURCES[family];
  return [{ map, removed, added: added.map((key) => [key, null] as const) }];
}

function elementsByKey(target: CompiledTarget | undefined): Map<string, Element> {
  const elements = target?.elements ?? [];
  return new Map(elements.map((element) => [`${element.map} ${element.key}`, element]));
}

/** Refills an interval map. It is small (an entry for each prefix) and its entries change together. */
function replacePrefixes(
  map: string,
  before: readonly Interval[],
  after: readonly Interval[],
): MapChange[] {
  if (before === after || JSON.stringify(before) === JSON.stringify(after)) return [];
  const added = after.map(({ range, chain }) => [range, `goto ${chain}`] as const);
  return [{ map, flush: true, removed: [], added }];
}

function addPrefixes(map: string, intervals: readonly Interval[]): string[] {
  const entries = intervals.map(({ range, chain }) => `${range} : goto ${chain}`);
  return batches(entries).map((batch) => addCommand(map, batch));
}

function verdictElements({ verdicts }: Layout): MapChange[] {
  return [...verdicts].map(([map, numbers]) => {
    const all = [...numbers].toSorted(byName);
    return { map, removed: [], added: all.map(([verdict, number]) => [number, verdict] as const) };
  });
}

/** Returns null if a number would change its meaning. */
function verdictsBetween(before: Layout, after: Layout): MapChange[] | null {
  const changes: MapChange[] = [];
  for (const [map, numbers] of after.verdicts) {
    const change = verdictChanges(before.verdicts.get(map) ?? new Map(), numbers);
    if (change === null) return null;
    changes.push({ map, ...change });
  }
  return changes;
}

/** The data of an element: its verdict, or the number of it. */
function valueOf({ map, verdict }: Element, { verdicts }: Pick<Layout, 'verdicts'>): string {
  const numbered = verdictMapOf(map);
  if (numbered === null) return verdict;
  const number = verdicts.get(numbered)?.get(verdict);
  if (number === undefined) throw new RangeError(`the verdict ${verdict} has no number`);
  return number;
}

function addElements(elements: readonly Element[], layout: Pick<Layout, 'verdicts'>): string[] {
  const byMap = new Map<string, string[]>();
  for (const element of elements) {
    const entries = byMap.get(element.map) ?? [];
    entries.push(`${element.key} : ${valueOf(element, layout)}`);
    byMap.set(element.map, entries);
  }
  return [...byMap]
    .toSorted(byName)
    .flatMap(([map, entries]) => batches(entries).map((batch) => addCommand(map, batch)));
}

function fillSets(layout: Layout): string[] {
  return [...layout.sets].toSorted(byName).flatMap(([name, set]) => fillSet(name, set));
}

/** Refills existing sets whose source sets have new data. */
function refillSets(before: Layout, after: Layout): string[] {
  return [...after.sets].toSorted(byName).flatMap(([name, set]) => {
    const old = before.sets.get(name);
    if (old === undefined || old === set || old.networks.join() === set.networks.join()) return [];
    return [`flush set ${TABLE} ${name}`, ...fillSet(name, set)];
  });
}

function fillSet(name: string, { networks }: SourceSetContent): string[] {
  return batches(networks).map((batch) => addCommand(name, batch));
}

function addCommand(name: string, entries: readonly string[]): string {
  return `add element ${TABLE} ${name} {\n\t${entries.join(',\n\t')}\n}`;
}

function declareSet(set: SourceSetContent): string[] {
  return [
    `# ${set.union.names.join(' ')}`,
    `set ${set.union.name} {`,
    `\t${setType(set)}`,
    '}',
    '',
  ];
}

function setType({ union }: SourceSetContent): string {
  return `type ${ADDRESS_TYPE[union.family]}; flags interval;`;
}

function declareNamedSources(family: Family): string[] {
  return [`set ${NAMED_SOURCES[family]} {`, `\t${SOURCE_FIELD};`, '}', ''];
}

/** Sorted, because the order of the targets has no effect on packets. */
function fillNamedSources({ references }: Layout, family: Family): string[] {
  const keys = sourcesOf(family, references.sources.keys()).toSorted(
    (a, b) => Number(a) - Number(b),
  );
  return batches(keys).map((batch) => addCommand(NAMED_SOURCES[family], batch));
}

function declareMap(map: string, size: number): string[] {
  return [`map ${map} {`, `\t${mapType(map, size)}`, '}', ''];
}

function mapType(map: string, size: number): string {
  return `type ${keyType(map)} : ${dataType(map)}; size ${size};`;
}

function declarePrefixMap(map: string): string[] {
  return [`map ${map} {`, `\ttype ${keyType(map)} : verdict; flags interval;`, '}', ''];
}

function chainBlock({ name, statements }: RenderedChain): string[] {
  return [`chain ${name} {`, ...statements.map((statement) => `\t${statement}`), '}', ''];
}

/** The entries of `a` whose names are not in `b`. */
function newIn<T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): [string, T][] {
  return changedKeys(b, a)
    .filter((name) => a.has(name) && !b.has(name))
    .map((name): [string, T] => [name, a.get(name) as T])
    .toSorted(byName);
}

function batches<T>(entries: readonly T[]): T[][] {
  const count = Math.ceil(entries.length / ELEMENTS_PER_COMMAND);
  return Array.from({ length: count }, (_, index) =>
    entries.slice(index * ELEMENTS_PER_COMMAND, (index + 1) * ELEMENTS_PER_COMMAND),
  );
}

export function sizeOf(map: string, count: number): number {
  return sizeFor(VERDICT_MAPS.some((one) => one === map) ? Math.max(count, MIN_VERDICTS) : count);
}

function sizeFor(count: number): number {
  let buckets = SMALLEST_MAP;
  while (buckets * MAX_LOAD < count * SPARE_RATIO) buckets *= 2;
  return buckets * MAX_LOAD;
}

function byName(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}
