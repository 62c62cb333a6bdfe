import { canonicalAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { cidrOfAddress, formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
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

  get at(): Position {
    return this.#located.positions.get(this.#pointer) ?? { line: 1, column: 1 };
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
    const parsed = parseCidr(text);
    if (parsed.ok) return formatCidr(parsed.value);
    this.refuse(`"${text}" is no network: ${parsed.reason}.`);
    return null;
  }

  /** Parses an address to a CIDR of full length. */
  address(text: string): string | null {
    const parsed = parseAddress(text);
    if (parsed.ok) return formatCidr(cidrOfAddress(parsed.value));
    this.refuse(`"${text}" is no address: ${parsed.reason}.`);
    return null;
  }

  /** Parses an address to its canonical text. */
  host(text: string): string | null {
    const canonical = canonicalAddress(text);
    if (canonical === null) this.address(text);
    return canonical;
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

  /** Parses an RFC 3339 time with an offset, and checks the calendar. */
  moment(text: string): Date | null {
    const form = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)$/.exec(
      text,
    );
    const value = new Date(text);
    const [, year, month, day] = form ?? [];
    const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
    if (form === null || Number.isNaN(value.getTime()) || midnight.getUTCDate() !== Number(day)) {
      this.refuse(
        `"${text}" is no moment: write it with an offset, such as 2026-01-01T00:00:00+00:00.`,
      );
      return null;
    }
    return value;
  }

  /** Parses a port expression to its canonical form: `80,443-445`. */
  ports(expression: string | number): string | null {
    const parsed = parsePortExpression(String(expression));
    if (!parsed.ok) {
      this.refuse(`${parsed.reason}.`);
      return null;
    }
    return parsed.value
      .map(({ low, high }) => (low === high ? `${low}` : `${low}-${high}`))
      .join(',');
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
}
