import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { FORMS, parseMoment } from '../../index.ts';
import type { MistakeList, Position } from '../mistakes.ts';
import { escapePointer, type Located } from '../read/yaml-source.ts';

/** A position in the file while it is parsed, and the list of its mistakes. */
export class Scope {
  readonly #located: Located;
  readonly #mistakes: MistakeList;
  readonly #pointer: string;

  constructor(located: Located, mistakes: MistakeList, pointer = '') {
    this.#located = located;
    this.#mistakes = mistakes;
    this.#pointer = pointer;
  }

  in(...path: readonly (string | number)[]): Scope {
    const deeper = path.map((part) => `/${escapePointer(String(part))}`).join('');
    return new Scope(this.#located, this.#mistakes, this.#pointer + deeper);
  }

  /** The place of a JSON pointer inside of this one. */
  inside(pointer: string): Scope {
    return new Scope(this.#located, this.#mistakes, this.#pointer + pointer);
  }

  get at(): Position {
    // A default, which the file does not write, is at what contains it.
    for (let place = this.#pointer; place !== ''; place = place.slice(0, place.lastIndexOf('/'))) {
      const found = this.#located.positions.get(place);
      if (found !== undefined) return found;
    }
    return { line: 1, column: 1 };
  }

  refuse(message: string): void {
    this.#mistakes.add(this.at, message);
  }

  /** Refuses another entry of the file, found by comparing entries. */
  refuseAt(at: Position, message: string): void {
    this.#mistakes.add(at, message);
  }

  /** Parses a network or an address to a CIDR. Returns null when refused. */
  cidr(text: string): string | null {
    return this.#accept(FORMS.cidr(text));
  }

  /** Parses an address to a CIDR of full length. */
  address(text: string): string | null {
    return this.#accept(FORMS.address(text)) && this.cidr(text);
  }

  /** Parses an address to its canonical text. */
  host(text: string): string | null {
    return this.#accept(FORMS.address(text));
  }

  /** Parses a list of networks. Leaves out refused ones and refuses duplicates. */
  cidrs(list: readonly string[]): string[] {
    const found: string[] = [];
    for (const [index, text] of list.entries()) {
      const cidr = this.in(index).cidr(text);
      if (cidr === null) continue;
      if (found.includes(cidr)) this.in(index).refuse(`${text} is here twice.`);
      found.push(cidr);
    }
    return found;
  }

  /** Parses an RFC 3339 time with an offset. */
  moment(text: string): Date | null {
    return this.#accept(parseMoment(text));
  }

  /** Parses a port expression to its canonical form: `80,443-445`. */
  ports(expression: string | number): string | null {
    return this.#accept(FORMS.ports(String(expression)));
  }

  /** Refuses duplicates in a list. */
  unique<T>(list: readonly T[], keyOf: (item: T) => string, field: string, what: string): void {
    const seen = new Set<string>();
    for (const [index, item] of list.entries()) {
      const key = keyOf(item);
      const scope = field === '' ? this.in(index) : this.in(index, field);
      if (seen.has(key)) scope.refuse(`${what} ${key} is here twice.`);
      seen.add(key);
    }
  }

  #accept<T>(parsed: Parsed<T>): T | null {
    if (parsed.ok) return parsed.value;
    this.refuse(parsed.reason);
    return null;
  }
}
