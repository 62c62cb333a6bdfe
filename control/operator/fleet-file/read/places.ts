import type { Position } from '../mistakes.ts';

/** The place of a value in the text, and of all inside of it: an offset, if nothing is inside. */
export type Place = number | Nest;

export interface Nest {
  readonly at: number;
  /** Names of the members of a mapping, in the order of the text; null for a list. */
  readonly names: readonly string[] | null;
  /** The offsets of the names. */
  readonly keys: readonly number[];
  readonly inside: readonly Place[];
}

/** A value of the text and its place. */
export interface Placed {
  readonly value: unknown;
  readonly place: Place;
}

/** Up to these, a search is faster than an index. */
const FEW = 16;

/**
 * Positions by JSON pointer. A file has a hundred times more values than positions that anybody asks for, so a pointer is
 * followed when it is asked for.
 */
export class Places {
  readonly #root: Place;
  readonly #positionOf: (offset: number) => Position;
  readonly #indexes = new WeakMap<Nest, ReadonlyMap<string, number>>();

  constructor(root: Place, positionOf: (offset: number) => Position) {
    this.#root = root;
    this.#positionOf = positionOf;
  }

  /** The position of a value; '' is the document. Undefined: the text does not have it. */
  of(pointer: string): Position | undefined {
    const place = this.#follow(partsOf(pointer));
    return place === undefined ? undefined : this.#positionOf(offsetOf(place));
  }

  /** The position of a member's name, by the pointer of the member. */
  ofName(pointer: string): Position | undefined {
    const parts = partsOf(pointer);
    const name = parts.pop();
    const holder = this.#follow(parts);
    if (name === undefined || holder === undefined || typeof holder === 'number') return undefined;
    const key = holder.keys[this.#indexIn(holder, name)];
    return key === undefined ? undefined : this.#positionOf(key);
  }

  #follow(parts: readonly string[]): Place | undefined {
    let place: Place | undefined = this.#root;
    for (const part of parts) {
      if (place === undefined || typeof place === 'number') return undefined;
      place = place.inside[this.#indexIn(place, part)];
    }
    return place;
  }

  #indexIn(nest: Nest, name: string): number {
    const { names } = nest;
    if (names === null) return Number(name);
    if (names.length <= FEW) return names.indexOf(name);
    let index = this.#indexes.get(nest);
    if (index === undefined) {
      index = new Map(names.map((one, at) => [one, at]));
      this.#indexes.set(nest, index);
    }
    return index.get(name) ?? -1;
  }
}

function offsetOf(place: Place): number {
  return typeof place === 'number' ? place : place.at;
}

function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
