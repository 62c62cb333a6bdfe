import { canonicalAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { cidrOfAddress, formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import type { MistakeList, Position } from '../mistakes.ts';
import { escapePointer, type Located } from '../read/yaml-source.ts';

/** A place in the file while it is parsed: where it is, and where its mistakes go. */
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

  /** For what is only seen to be wrong beside something else. */
  refuseAt(at: Position, message: string): void {
    this.#mistakes.add(at, message);
  }

  /** A network with its length; a bare address is one too. Null: refused. */
  cidr(text: string): string | null {
    const parsed = parseCidr(text);
    if (parsed.ok) return formatCidr(parsed.value);
    this.refuse(`"${text}" is no network: ${parsed.reason}.`);
    return null;
  }

  /** A single address, as the network that it is. */
  address(text: string): string | null {
    const parsed = parseAddress(text);
    if (parsed.ok) return formatCidr(cidrOfAddress(parsed.value));
    this.refuse(`"${text}" is no address: ${parsed.reason}.`);
    return null;
  }

  /** A single address in its one spelling. */
  host(text: string): string | null {
    const canonical = canonicalAddress(text);
    if (canonical === null) this.address(text);
    return canonical;
  }

  /** Of a list; what is refused is left out, and twice the same is refused. */
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

  /** RFC 3339 with an offset; the calendar is checked. */
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

  /** An expression in canonical form: `80,443-445`. */
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

  /** Refuses what is in the list twice. */
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
