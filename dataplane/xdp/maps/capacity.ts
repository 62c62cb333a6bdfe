import type { EarlyTarget } from '../compile/early-target.ts';
import { mapsOf } from './layout.ts';

type Visit = (what: string, count: number) => void;

/** What a target takes: a place of its counters, an element in each of its maps, its look-ups, what strikes it. */
function eachNeed(target: EarlyTarget, visit: Visit): void {
  visit('slots', 1);
  for (const map of mapsOf(target)) visit(map, 1);
  if (target.spilled.length > 0) visit('spilled', target.spilled.length);
  if (target.strucks.length > 0) visit('struck_by', target.strucks.length);
}

/** Of a target that changes, the new ones stand beside the old ones for a moment. */
const TWICE: readonly string[] = ['spilled', 'struck_by'];

/** What targets take together. */
export class Needs {
  readonly #counts = new Map<string, number>();

  add(target: EarlyTarget): void {
    eachNeed(target, this.#count);
  }

  remove(target: EarlyTarget): void {
    eachNeed(target, (what, count) => this.#count(what, -count));
  }

  /** Of what most is taken of. */
  get most(): number {
    return Math.max(0, ...this.#counts.values());
  }

  /** Whether there is room for one more, or for it in place of what it was. */
  fits(target: EarlyTarget, room: (what: string) => number, before?: EarlyTarget): boolean {
    let isRoom = true;
    const freed = new Map<string, number>();
    if (before !== undefined) eachNeed(before, (what, count) => freed.set(what, count));
    eachNeed(target, (what, count) => {
      const again = TWICE.includes(what) ? 0 : (freed.get(what) ?? 0);
      if ((this.#counts.get(what) ?? 0) - again + count > room(what)) isRoom = false;
    });
    return isRoom;
  }

  readonly #count: Visit = (what, change) => {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + change);
  };
}

/** Of these the ones that there is no room for, who comes first being served first. */
export function withoutRoom(targets: Iterable<EarlyTarget>, limit: number): EarlyTarget[] {
  const taken = new Needs();
  const without: EarlyTarget[] = [];
  for (const target of targets) {
    if (taken.fits(target, () => limit)) taken.add(target);
    else without.push(target);
  }
  return without;
}
