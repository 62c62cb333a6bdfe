import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';

/** Addresses whose prefix was found to be around them are remembered, so that a bucket costs look-ups only. */
const MAX_REMEMBERED = 131_072;

/** What an agent has to say something of: the prefixes that it serves. */
export class Served {
  readonly #prefixes: readonly Cidr[];
  readonly #within: NearestScope<true>;
  readonly #around = new Map<string, string>();

  constructor(serves: readonly string[]) {
    this.#prefixes = serves.flatMap((text) => {
      const cidr = parseCidr(text);
      return cidr.ok ? [cidr.value] : [];
    });
    this.#within = new NearestScope(serves.map((text) => [text, true] as const));
  }

  /** An address inside of it, or a prefix that it serves a part of: it counts what goes into that part. */
  has(subject: string): boolean {
    if (this.#within.of(subject) !== null) return true;
    if (!subject.includes('/')) return false;
    const cidr = parseCidr(subject);
    return cidr.ok && this.#prefixes.some((prefix) => containsCidr(cidr.value, prefix));
  }

  /** Whether an address counts for the prefix that the agent says it is in. */
  isInside(subject: string, prefix: string): boolean {
    if (this.#around.get(subject) === prefix) return true;
    const [inner, outer] = [parseCidr(subject), parseCidr(prefix)];
    if (!inner.ok || !outer.ok || !containsCidr(outer.value, inner.value)) return false;
    if (this.#around.size >= MAX_REMEMBERED) this.#around.clear();
    this.#around.set(subject, prefix);
    return true;
  }
}
