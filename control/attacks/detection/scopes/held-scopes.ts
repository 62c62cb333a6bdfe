import { createHash } from 'node:crypto';
import {
  NOTHING_SET,
  resolveScopes,
  type ScopeSettings,
  type WatchScope,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import { type Cidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

/** A present holding with the settings that it may inherit. */
export interface HeldRow {
  readonly cidr: string;
  readonly organisationId: number;
  readonly own: Partial<ScopeSettings>;
  /** Null for a prefix. */
  readonly service: Partial<ScopeSettings> | null;
  readonly organisation: Partial<ScopeSettings>;
}

/** Sums of digests are taken modulo this. */
const DIGESTS = 1n << 256n;

/**
 * Present holdings with their resolved settings: a holding's own, its service's, those of containing prefixes of the same
 * organisation, the organisation's, the defaults. Changes cost what they change.
 */
export class HeldScopes {
  readonly #rows = new PrefixIndex<HeldRow>();
  readonly #scopes = new Map<string, WatchScope>();
  readonly #nearest = new NearestScope<WatchScope>([]);
  /** Sorted by scope. Null until it is asked for. */
  #sorted: WatchScope[] | null = null;
  /** The sum of the digests of all scopes, so that a version does not need all of them. */
  #sum = 0n;

  /** The same for equal content, whatever led to it. */
  get digest(): string {
    return this.#sum.toString(16);
  }

  /** Sorted by scope. */
  get all(): readonly WatchScope[] {
    this.#sorted ??= [...this.#scopes.values()].toSorted(byScope);
    return this.#sorted;
  }

  /** The settings of an address or prefix, by the longest containing holding. Null without a holding. */
  of(subject: string): WatchScope | null {
    return this.#nearest.of(subject);
  }

  /**
   * Replaces holdings. `rows` are all present holdings that are in `changed` or inside one of it, or whose service or
   * organisation changed; what is in `changed` and not in `rows` has ended. Returns the number of changed scopes.
   */
  apply(changed: readonly string[], rows: readonly HeldRow[]): number {
    const held = rows.map((row) => ({ row, network: networkOf(row.cidr) }));
    const ended = new Set(changed.map((cidr) => formatNetwork(networkOf(cidr))));
    for (const { row, network } of held) {
      ended.delete(formatNetwork(network));
      this.#rows.delete(network);
      this.#rows.add(network, row);
    }
    for (const scope of ended) this.#rows.delete(networkOf(scope));
    let count = 0;
    for (const scope of ended) if (this.#replace(scope, null)) count++;
    for (const { row, network } of held) {
      const scope = this.#resolve(row, network);
      if (this.#replace(scope.scope, scope)) count++;
    }
    return count;
  }

  #resolve(row: HeldRow, network: Cidr): WatchScope {
    const containing = this.#rows
      .covering(network)
      .filter((other) => other !== row && other.organisationId === row.organisationId)
      .toReversed();
    const nearestFirst = [
      row.own,
      row.service,
      ...containing.map(({ own }) => own),
      row.organisation,
    ];
    const settings = nearestFirst.map((own) => ({ ...NOTHING_SET, ...own }));
    return { scope: formatNetwork(network), subject: true, ...resolveScopes(settings) };
  }

  /** Returns whether anything differs. */
  #replace(scope: string, next: WatchScope | null): boolean {
    const before = this.#scopes.get(scope) ?? null;
    const change = digestOf(next) - digestOf(before);
    if (change === 0n) return false;
    this.#sum = (this.#sum + change + DIGESTS) % DIGESTS;
    if (next === null) {
      this.#scopes.delete(scope);
      this.#nearest.delete(scope);
    } else {
      this.#scopes.set(scope, next);
      this.#nearest.set(scope, next);
    }
    if (this.#sorted !== null) replaceSorted(this.#sorted, scope, next);
    return true;
  }
}

function digestOf(scope: WatchScope | null): bigint {
  if (scope === null) return 0n;
  return BigInt(`0x${createHash('sha256').update(JSON.stringify(scope)).digest('hex')}`);
}

function byScope(a: WatchScope, b: WatchScope): number {
  return a.scope < b.scope ? -1 : 1;
}

function replaceSorted(sorted: WatchScope[], scope: string, next: WatchScope | null): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.scope ?? '') < scope) low = middle + 1;
    else high = middle;
  }
  const isKnown = sorted[low]?.scope === scope;
  sorted.splice(low, isKnown ? 1 : 0, ...(next === null ? [] : [next]));
}

function networkOf(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok)
    throw new Error(`the database holds ${text}, which is no network: ${parsed.reason}`);
  return parsed.value;
}
