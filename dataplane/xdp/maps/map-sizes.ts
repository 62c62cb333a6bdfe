import type { MapShape } from '../../kernel/bpf/bpf.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import { LAYOUT, mapsOf } from './layout.ts';
import { countLines } from './lines/maps.ts';
import type { UnionTable } from '../compile/unions.ts';

const SMALLEST = 64;

/** The artifact's maps, with room for these targets and more. */
export function sized(
  shapes: Readonly<Record<string, MapShape>>,
  targets: readonly EarlyTarget[],
  slots: number,
  unions: UnionTable,
): Record<string, MapShape> {
  const counts = new Map<string, number>(Object.entries(countLines(targets)));
  for (const target of targets) {
    for (const map of mapsOf(target)) counts.set(map, (counts.get(map) ?? 0) + 1);
    counts.set('spilled', (counts.get('spilled') ?? 0) + target.spilled.length);
    counts.set('struck_by', (counts.get('struck_by') ?? 0) + target.strucks.length);
  }
  for (const family of [4, 6] as const) {
    counts.set(`sets_${family}`, unions.networks[family].length);
  }
  const growing = /^(?:lines|small|large|prefix|sets)_[46]$|^spilled$|^struck_by$|^wides$/;
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      if (name === 'counters')
        return [
          name,
          { ...shape, maxEntries: (slots / LAYOUT.COUNTERS_IN_VALUE) * LAYOUT.REASONS },
        ];
      if (!growing.test(name)) return [name, shape];
      return [name, { ...shape, maxEntries: roomFor(counts.get(name) ?? 0) }];
    }),
  );
}

/**
 * For half as many again. Not more: a table that is larger than it must be is one that caches hold less of.
 */
export function roomFor(count: number): number {
  let room = SMALLEST;
  while (room < count * 1.5) room *= 2;
  return room;
}
