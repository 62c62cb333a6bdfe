import { sep } from 'node:path';
import { importedFiles, production } from './sources.ts';

/** The folders and files directly in a folder, by what they import of one another. */
type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

export interface Layers {
  /** The entries by the longest chain of imports below them, the lowest first. */
  readonly floors: readonly (readonly string[])[];
  /** The entries that import each other in a circle: on no floor is each above what it imports. */
  readonly circles: readonly (readonly string[])[];
}

/** Places the entries of a folder: each stands above all that it imports. Those of a circle share a floor. */
export function layersOf(folder: string): Layers {
  const graph = importsWithin(folder);
  const entries = [...graph.keys()];
  const circles = circlesOf(entries, (entry) => [...(graph.get(entry) ?? [])]);
  const circleOf = new Map(circles.flatMap((circle) => circle.map((entry) => [entry, circle])));
  const heights = new Map<string, number>();
  const heightOf = (entry: string): number => {
    const known = heights.get(entry);
    if (known !== undefined) return known;
    const members = circleOf.get(entry) ?? [entry];
    const below = members
      .flatMap((member) => [...(graph.get(member) ?? [])])
      .filter((imported) => !members.includes(imported));
    const height = Math.max(-1, ...below.map(heightOf)) + 1;
    for (const member of members) heights.set(member, height);
    return height;
  };
  const floors: string[][] = [];
  for (const entry of entries.toSorted()) (floors[heightOf(entry)] ??= []).push(entry);
  return { floors, circles };
}

function importsWithin(folder: string): ImportGraph {
  const inside = folder + sep;
  const entryOf = (file: string): string => file.slice(inside.length).split(sep)[0] ?? '';
  const graph = new Map<string, Set<string>>();
  for (const file of production.filter((one) => one.startsWith(inside))) {
    const entry = entryOf(file);
    const imported = importedFiles(file)
      .filter((target) => target.startsWith(inside))
      .map(entryOf)
      .filter((other) => other !== entry);
    graph.set(entry, new Set([...(graph.get(entry) ?? []), ...imported]));
  }
  return graph;
}

/** The nodes that import each other in a circle: the strongly connected components (Tarjan). */
export function circlesOf(
  all: readonly string[],
  importsFrom: (node: string) => readonly string[],
): string[][] {
  const known = new Set(all);
  const order = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string): number => {
    const index = order.size;
    order.set(node, index);
    let low = index;
    stack.push(node);
    for (const next of importsFrom(node)) {
      if (!known.has(next)) continue;
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === index) {
      const members = stack.splice(stack.indexOf(node));
      if (members.length > 1) circles.push(members.toSorted());
    }
    return low;
  };
  for (const node of all) if (!order.has(node)) visit(node);
  return circles;
}
