import type { EarlyTarget } from '../compile/early-target.ts';
import { LAYOUT, mapsOf } from './layout.ts';
import type { MapShape } from '../../kernel/bpf/bpf.ts';
import { countLines } from './lines/maps.ts';
import type { UnionTable } from '../compile/unions.ts';

type Visit = (what: string, count: number) => unknown;

/**
 * Reports what a target uses: a counter slot, an element in each of its maps, its look-ups, its stateless drops and its
 * filtered ports.
 */
function eachUse(target: EarlyTarget, visit: Visit): void {
  visit('slots', 1);
  for (const map of mapsOf(target)) visit(map, 1);
  if (target.spilled.length > 0) visit('spilled', target.spilled.length);
  if (target.statelessDrops.length > 0) visit('stateless_drops', target.statelessDrops.length);
  if (target.greetedPorts.length > 0) visit('filtered', target.greetedPorts.length);
}

/** When a target changes, its new elements are added before the old ones are removed. */
const DOUBLED_ON_CHANGE: readonly string[] = ['spilled', 'stateless_drops', 'filtered'];

/** The elements that targets use, by map. */
export class MapUsage {
  readonly #counts = new Map<string, number>();

  add(target: EarlyTarget): void {
    eachUse(target, this.#count);
  }

  remove(target: EarlyTarget): void {
    eachUse(target, (what, count) => this.#count(what, -count));
  }

  /** The usage of the fullest map. */
  get highest(): number {
    return Math.max(0, ...this.#counts.values());
  }

  /** Whether one more target fits, or a target in place of its version `before`. */
  fits(target: EarlyTarget, capacityOf: (what: string) => number, before?: EarlyTarget): boolean {
    let hasCapacity = true;
    const freed = new Map<string, number>();
    if (before !== undefined) eachUse(before, (what, count) => freed.set(what, count));
    eachUse(target, (what, count) => {
      const again = DOUBLED_ON_CHANGE.includes(what) ? 0 : (freed.get(what) ?? 0);
      if ((this.#counts.get(what) ?? 0) - again + count > capacityOf(what)) hasCapacity = false;
    });
    return hasCapacity;
  }

  readonly #count: Visit = (what, change) => {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + change);
  };
}

/** Returns the targets that exceed the limit. Earlier targets have priority. */
export function beyondCapacity(targets: Iterable<EarlyTarget>, limit: number): EarlyTarget[] {
  const usage = new MapUsage();
  const excluded: EarlyTarget[] = [];
  for (const target of targets) {
    if (usage.fits(target, () => limit)) usage.add(target);
    else excluded.push(target);
  }
  return excluded;
}

const SMALLEST = 64;

/** The maps of the artifact, sized for these targets and some more. */
export function sized(
  shapes: Readonly<Record<string, MapShape>>,
  targets: readonly EarlyTarget[],
  slots: number,
  unions: UnionTable,
): Record<string, MapShape> {
  const counts = new Map<string, number>(Object.entries(countLines(targets)));
  const add: Visit = (map, count) => counts.set(map, (counts.get(map) ?? 0) + count);
  for (const target of targets) eachUse(target, add);
  for (const family of [4, 6] as const) add(`sets_${family}`, unions.networks[family].length);
  const growing =
    /^(?:lines|small|large|prefix|sets)_[46]$|^spilled$|^stateless_drops$|^filtered$|^wides$/;
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      if (name === 'counters')
        return [
          name,
          { ...shape, maxEntries: (slots / LAYOUT.COUNTERS_IN_VALUE) * LAYOUT.REASONS },
        ];
      if (!growing.test(name)) return [name, shape];
      return [name, { ...shape, maxEntries: sizeFor(counts.get(name) ?? 0) }];
    }),
  );
}

/** Leaves half as much again. Not more, because a smaller table fits better into the processor's caches. */
export function sizeFor(count: number): number {
  let size = SMALLEST;
  while (size < count * 1.5) size *= 2;
  return size;
}
