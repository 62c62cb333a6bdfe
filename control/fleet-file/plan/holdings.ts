import { formatCidr, networkOf, parseCidr } from '@portcullis/core/net/cidr.ts';
import { holdingsAfter } from '../../operator/index.ts';
import type { HoldingRef } from './change.ts';
import type { PlanDraft } from './draft.ts';

/** A holding as it will be when the plan has been applied. */
interface PlannedHolding {
  readonly ref: HoldingRef;
  readonly organisation: string;
  readonly cidr: string;
  readonly since: Date;
  /** Null: without end. */
  readonly until: Date | null;
  readonly isNamed: boolean;
}

/** Returns all holdings that there will be. */
export function plannedHoldings({ file, state }: PlanDraft): PlannedHolding[] {
  const wanted = file.objects.holding.map(({ object }) => object);
  return holdingsAfter(wanted, state.objects.holding).map(({ object, before, isNamed }) => {
    const { organisation, prefix: cidr } = object;
    const since = object.since === null ? state.now : new Date(object.since);
    const until = object.until === null ? null : new Date(object.until);
    const ref: HoldingRef =
      before === null
        ? { kind: 'new', organisation, cidr, since }
        : { kind: 'existing', id: before.id };
    return { ref, organisation, cidr, since, until, isNamed };
  });
}

/** Finds the most specific planned holding that contains a target. */
export class HoldingIndex {
  readonly #byCidr: Map<string, PlannedHolding[]>;
  readonly #now: Date;

  constructor(planned: readonly PlannedHolding[], now: Date) {
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
  ): { readonly ref: HoldingRef } | { readonly ended: true } | { readonly holder: string | null } {
    const containing = this.#containing(target);
    const holder = containing.find(
      ({ since, until }) => since <= this.#now && (until === null || until > this.#now),
    );
    if (holder?.organisation === organisation) return { ref: holder.ref };
    const own = containing.filter((holding) => holding.organisation === organisation);
    const later = own.find(({ since }) => since > this.#now);
    if (later !== undefined) return { ref: later.ref };
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
