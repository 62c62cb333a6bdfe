import { TABLE } from '../names.ts';
import type { Layout } from './layout.ts';
import { objectsOf, type TableObjects } from './objects.ts';
import { fillAll, linesOf, type RenderedWhole, sizeOf, type Sizes, tableBlock } from './render.ts';

/**
 * The sets of limits. An element holds the rate of the rule that created it, so a rewrite empties these sets. All other
 * sets that the kernel fills keep their elements and timeouts.
 */
const METER =
  /^(?:(?:un)?validated_rate|budget(?:_prefix)?|connection_rate|mitigated_\w+|fragment_\w+_rate)[46]$/;
/** A map with more than this capacity for each element is made smaller. */
const MAX_CAPACITY_RATIO = 4;

export interface RenderedRewrite extends RenderedWhole {
  /** Sets whose definition changed, so their elements are lost. */
  readonly recreated: ReadonlySet<string>;
}

/**
 * Writes the whole table in place, in one transaction. Base chains stay, so no packet meets an empty hook: a lookup
 * finds the old elements until the commit and the new ones after it.
 *
 * An object whose definition changed (a map that is full, the priority of a hook, the size of a set) is deleted and
 * declared again. A packet that is inside the old chain at the commit may find a deleted map empty.
 */
export function renderRewrite(layout: Layout, there: TableObjects): RenderedRewrite {
  const sizes = sizesFrom(layout, there);
  const block = tableBlock(layout, sizes);
  const wanted = objectsOf(block);
  const unchanged = [...there].filter(([name, text]) => wanted.get(name) === text);
  const gone = [...there.keys()].filter((name) => wanted.get(name) !== there.get(name));
  const isOf = (kind: string) => (name: string) => name.startsWith(`${kind} `);
  const dynamic = dynamicSets(block);
  const limits = block.flatMap((line) => /^\tlimit (\S+) \{$/.exec(line)?.[1] ?? []);
  const lines = [
    `add table ${TABLE}`,
    `flush table ${TABLE}`,
    ...unchanged.flatMap(([object]) => {
      const [kind = '', name = ''] = object.split(' ');
      const isLearned = dynamic.has(name) && !METER.test(name);
      return kind === 'chain' || isLearned ? [] : [`flush ${kind} ${TABLE} ${name}`];
    }),
    // Elements of maps refer to chains, so maps are deleted first.
    ...[...gone.filter((name) => !isOf('chain')(name)), ...gone.filter(isOf('chain'))].map(
      (object) => `delete ${object.replace(' ', ` ${TABLE} `)}`,
    ),
    // The kernel ignores a new rate for an existing limit, so the limit is deleted and added again.
    ...limits.map((name) => `add limit ${TABLE} ${name} { rate 1/second; }`),
    ...limits.map((name) => `delete limit ${TABLE} ${name}`),
    ...block,
    ...fillAll(layout),
  ];
  const recreated = new Set(gone.filter(isOf('set')).map((name) => name.slice('set '.length)));
  return { text: linesOf(lines), sizes, recreated };
}

/** Keeps the sizes of maps that fit, because the kernel allocates them once. */
function sizesFrom({ counts }: Layout, there: TableObjects): Sizes {
  return new Map(
    [...counts].map(([map, count]) => {
      const size = Number(/ size (\d+);/.exec(there.get(`map ${map}`) ?? '')?.[1] ?? 0);
      const needed = sizeOf(map, count);
      return [
        map,
        size >= count && size <= MAX_CAPACITY_RATIO * needed && size > 0 ? size : needed,
      ];
    }),
  );
}

function dynamicSets(block: readonly string[]): Set<string> {
  return new Set(
    block.flatMap((line, index) =>
      (block[index + 1] ?? '').includes('flags dynamic')
        ? (/^\tset (\S+) \{$/.exec(line)?.[1] ?? [])
        : [],
    ),
  );
}
