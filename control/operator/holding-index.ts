import type { HoldingObject } from '@portcullis/contract/schemas/declared/holding.ts';
import { formatCidr, networkOf, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Current } from './kind.ts';
import { holdingsAfter } from './kinds/holding.ts';
import type { HoldingFacts } from './kinds/holding-table.ts';

/** A holding as it will be when a file has been applied. */
interface PlannedHolding {
  /** Null: there is none yet. */
  readonly id: number | null;
  readonly organisation: string;
  readonly cidr: string;
  readonly since: Date;
  /** Null: without end. */
  readonly until: Date | null;
  readonly isNamed: boolean;
}

/** Finds the most specific planned holding that contains a target. */
export class HoldingIndex {
  readonly #byCidr: Map<string, PlannedHolding[]>;
  readonly #now: Date;

  constructor(
    declared: readonly HoldingObject[],
    rows: readonly Current<HoldingObject, HoldingFacts>[],
    now: Date,
  ) {
    const planned = holdingsAfter(declared, rows).map(({ object, before, isNamed }) => ({
      id: before?.id ?? null,
      organisation: object.organisation,
      cidr: object.prefix,
      since: object.since === null ? now : new Date(object.since),
      until: object.until === null ? null : new Date(object.until),
      isNamed,
    }));
    this.#byCidr = Map.groupBy(planned, ({ cidr }) => cidr);
    this.#now = now;
  }

  /**
   * Returns the holding that an assignment of `organisation` to `target` belongs to: the current one, or one that
   * starts later. `ended`: the organisation held it before, so nothing is left to assign to. Otherwise `holder`
   * names the organisation that holds it, or null.
   */
  find(
    organisation: string,
    target: string,
  ):
    | { readonly id: number | null }
    | { readonly ended: true }
    | { readonly holder: string | null } {
    const containing = this.#containing(target);
    const holder = containing.find(
      ({ since, until }) => since <= this.#now && (until === null || until > this.#now),
    );
    if (holder?.organisation === organisation) return { id: holder.id };
    const own = containing.filter((holding) => holding.organisation === organisation);
    const later = own.find(({ since }) => since > this.#now);
    if (later !== undefined) return { id: later.id };
    const ended = own.some(({ until, isNamed }) => isNamed && until !== null && until <= this.#now);
    if (ended) return { ended: true };
    return { holder: holder?.organisation ?? null };
  }

  #containing(target: string): PlannedHolding[] {
    const parsed = parseCidr(target);
    if (!parsed.ok) return [];
    const found: PlannedHolding[] = [];
    for (let length = parsed.value.length; length >= 0; length -= 1) {
      found.push(...(this.#byCidr.get(formatCidr(networkOf(parsed.value, length))) ?? []));
    }
    return found;
  }
}
