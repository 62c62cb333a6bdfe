import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';

/** The size of the cache of checked addresses. */
const MAX_REMEMBERED = 131_072;

/** Checks subjects against the prefixes that an agent serves. */
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

  /** An address inside them, or a prefix that overlaps them. */
  has(subject: string): boolean {
    if (this.#within.of(subject) !== null) return true;
    if (!subject.includes('/')) return false;
    const cidr = parseCidr(subject);
    return cidr.ok && this.#prefixes.some((prefix) => containsCidr(cidr.value, prefix));
  }

  /** Whether an address is in the prefix that the agent reports. */
  isInside(subject: string, prefix: string): boolean {
    if (this.#around.get(subject) === prefix) return true;
    const [inner, outer] = [parseCidr(subject), parseCidr(prefix)];
    if (!inner.ok || !outer.ok || !containsCidr(outer.value, inner.value)) return false;
    if (this.#around.size >= MAX_REMEMBERED) this.#around.clear();
    this.#around.set(subject, prefix);
    return true;
  }
}
