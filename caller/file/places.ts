import { isMap, isScalar, isSeq, type Node } from 'yaml';
import { parseYaml, type Position, START } from '@portcullis/core/yaml/parse-yaml.ts';
import { usageError } from '../exit.ts';

export interface Mistake extends Position {
  /** A sentence. */
  readonly message: string;
}

/** Far above what a file needs: 1,000 addresses of 100 rules are 8 MB. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The mistakes of a file, in the order of its lines. */
export class Mistakes {
  readonly #found: Mistake[] = [];
  #positionOf: (offset: number) => Position = () => START;

  /** The content of a YAML file; null if it is no YAML, and the mistakes say why. */
  read(text: string): Place | null {
    const parsed = parseYaml(text, { maxBytes: MAX_BYTES });
    if (!parsed.ok) {
      this.#found.push(...parsed.errors);
      return null;
    }
    this.#positionOf = parsed.positionOf;
    return new Place(parsed.document.contents, 0, this);
  }

  add(offset: number, message: string): void {
    this.#found.push({ ...this.#positionOf(offset), message });
  }

  /** Throws an error with all of them, one a line. */
  throwIfAny(file: string): void {
    if (this.#found.length === 0) return;
    const sorted = this.#found.toSorted((a, b) => a.line - b.line || a.column - b.column);
    const lines = sorted.map(
      ({ line, column, message }) => `${file}:${line}:${column}: ${message}`,
    );
    throw usageError(`nothing was changed:\n${lines.join('\n')}`);
  }
}

/** A value of the file, and where it stands. */
export class Place {
  readonly node: Node | null;
  readonly #parent: number;
  readonly #mistakes: Mistakes;

  constructor(node: Node | null, parent: number, mistakes: Mistakes) {
    this.node = node;
    this.#parent = parent;
    this.#mistakes = mistakes;
  }

  get offset(): number {
    return this.node?.range?.[0] ?? this.#parent;
  }

  refuse(message: string): void {
    this.#mistakes.add(this.offset, message);
  }

  /** The members of a mapping, by their names; null, with a mistake, if it is none. */
  entries(what: string): ReadonlyMap<string, Place> | null {
    const { node } = this;
    if (!isMap<Node, Node | null>(node)) {
      this.refuse(`${what} is a mapping.`);
      return null;
    }
    const found = new Map<string, Place>();
    for (const { key, value } of node.items) {
      const offset = key.range?.[0] ?? this.offset;
      const name = isScalar(key) ? String(key.value) : null;
      if (name === null) this.#mistakes.add(offset, 'A name is plain text.');
      else if (found.has(name)) this.#mistakes.add(offset, `"${name}" is here twice.`);
      else found.set(name, new Place(value, offset, this.#mistakes));
    }
    return found;
  }

  /** Like `entries`, of known names only: others are mistakes, with the name that was probably meant. */
  fields<Name extends string>(
    what: string,
    names: readonly Name[],
  ): Partial<Record<Name, Place>> | null {
    const entries = this.entries(what);
    if (entries === null) return null;
    for (const [name, place] of entries) {
      if ((names as readonly string[]).includes(name)) continue;
      if (/^[\d-]+$/.test(name) && place.isNull) {
        place.refuse('In { } a list of ports is quoted: destination_port: "22,80,443".');
        continue;
      }
      const near = nearest(name, names);
      const meant = near === null ? `there are: ${names.join(', ')}` : `did you mean "${near}"?`;
      place.refuse(`${what} has no field "${name}"; ${meant}`);
    }
    return Object.fromEntries(entries) as Partial<Record<Name, Place>>;
  }

  items(what: string): readonly Place[] | null {
    if (!isSeq<Node | null>(this.node)) {
      this.refuse(`${what} is a list.`);
      return null;
    }
    return this.node.items.map((item) => new Place(item, this.offset, this.#mistakes));
  }

  /** A text or number as text; null, with a mistake, for anything else. */
  text(what: string): string | null {
    const value: unknown = isScalar(this.node) ? this.node.value : undefined;
    if (typeof value === 'string' || typeof value === 'number') return String(value);
    this.refuse(`${what} is text.`);
    return null;
  }

  get isNull(): boolean {
    return this.node === null || (isScalar(this.node) && this.node.value === null);
  }
}

/** The name of a list that is like another: with at most a third of its letters changed. */
export function nearest<Name extends string>(name: string, names: readonly Name[]): Name | null {
  const near = names
    .map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= Math.max(1, near.one.length / 3) ? near.one : null;
}

/**
 * The fewest letters to insert, remove, replace or exchange.
 * https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance
 */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
