import { countOf } from '@portcullis/core/count.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { formatCidr, networkOf, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { DesiredHolding } from '../desired.ts';
import { showCidr } from '../../operator/index.ts';
import type { Position } from '../mistakes.ts';
import { type CurrentHolding, type HoldingContent, inEffect } from '../../organisations/index.ts';
import type { HoldingRef } from './change.ts';
import { describeDifferences, describeValue, PlanDraft } from './draft.ts';

/** A holding as it will be when the plan has been applied. */
export interface PlannedHolding extends HoldingContent {
  readonly ref: HoldingRef;
  readonly organisation: string;
  readonly owner: CurrentHolding['owner'];
  /** Null when the file does not name it; so are `detection` and `default`. */
  readonly at: Position | null;
  readonly detection: ScopeSettings | null;
  readonly default: DesiredHolding['default'];
}

/** Plans every holding of the file and every row of the fleet file, and returns all holdings that there will be. */
export function planHoldings(draft: PlanDraft): PlannedHolding[] {
  const matched = matchHoldings(draft);
  const planned: PlannedHolding[] = [];
  for (const current of draft.state.holdings) {
    const wanted = matched.get(current);
    if (wanted !== undefined) planned.push(planChange(draft, current, wanted));
    else if (current.owner === 'portal') planned.push(unchanged(draft, current));
    else planned.push(...planRemoval(draft, current));
  }
  const known = new Set(matched.values());
  for (const { slug, holdings } of draft.organisations) {
    for (const holding of holdings) {
      if (!known.has(holding)) planned.push(planCreate(draft, slug, holding));
    }
  }
  refuseOverlaps(draft, planned);
  return planned;
}

/** Finds the row of each holding of the file: same organisation and network, preferably with the same start. */
function matchHoldings(draft: PlanDraft): Map<CurrentHolding, DesiredHolding> {
  const { now, holdings: all } = draft.state;
  const rows = Map.groupBy(
    all.filter(({ owner }) => owner === 'fleet'),
    ({ organisationId, cidr }) => `${draft.slugOf(organisationId)} ${cidr}`,
  );
  const matched = new Map<CurrentHolding, DesiredHolding>();
  for (const fits of [sameStart, overlapping(now)]) {
    const taken = new Set(matched.values());
    for (const { slug, holdings } of draft.organisations) {
      for (const wanted of holdings) {
        if (taken.has(wanted)) continue;
        const free = rows.get(`${slug} ${wanted.cidr}`)?.filter((row) => !matched.has(row)) ?? [];
        const found = free.find((row) => fits(row, wanted));
        if (found !== undefined) matched.set(found, wanted);
      }
    }
  }
  return matched;
}

function sameStart(row: CurrentHolding, wanted: DesiredHolding): boolean {
  return wanted.since !== null && row.since.getTime() === wanted.since.getTime();
}

/**
 * Marks overlaps: without \`since\` it matches the holding that continues; a holding that has ended stays as history.
 */
function overlapping(now: Date) {
  return (row: CurrentHolding, wanted: DesiredHolding): boolean => {
    if (wanted.since === null) return row.until === null || row.until > now;
    const startsBeforeEnd = wanted.until === null || row.since < wanted.until;
    return startsBeforeEnd && (row.until === null || wanted.since < row.until);
  };
}

function planChange(
  draft: PlanDraft,
  current: CurrentHolding,
  wanted: DesiredHolding,
): PlannedHolding {
  const { asn, serviceId, until, at, detection } = wanted;
  const { id, cidr, owner } = current;
  const organisation = draft.slugOf(current.organisationId);
  const content = { cidr, since: wanted.since ?? current.since, until, asn, serviceId };
  const words = describeDifferences(fieldsOf(current), fieldsOf(content));
  if (words !== '') {
    const before = inEffect(current, draft.state.now);
    const after = inEffect(content, draft.state.now);
    if (before && !after && current.liveObjects > 0) {
      draft.lose(at, describeOrphans(current, organisation));
    }
    if (!before && after) refuseOrphansInside(draft, cidr, at);
    const subject = describeHolding(organisation, wanted);
    draft.add(
      { do: 'holding.change', sign: '~', id, ...content, subject, words, organisation },
      at,
    );
  }
  const ref = { kind: 'existing', id } as const;
  return { ...content, ref, organisation, owner, at, detection, default: wanted.default };
}

function fieldsOf({ since, until, asn, serviceId }: HoldingContent) {
  return { since, until, asn, service: serviceId };
}

/** Deletes a holding that nothing ever referred to; any other ends now and stays as history. */
function planRemoval(draft: PlanDraft, current: CurrentHolding): PlannedHolding[] {
  const { now } = draft.state;
  if (current.until !== null && current.until <= now) return [unchanged(draft, current)];
  const { id, cidr, since, asn, serviceId } = current;
  const organisation = draft.slugOf(current.organisationId);
  if (current.liveObjects > 0) {
    draft.lose(PlanDraft.fileStart, describeOrphans(current, organisation));
  }
  const change = {
    sign: '-',
    id,
    cidr,
    subject: describeHolding(organisation, current),
    organisation,
  } as const;
  if (!current.referenced || since >= now) {
    draft.add({ do: 'holding.delete', words: '', ...change });
    return [];
  }
  const ended = { since, until: now, asn, serviceId };
  draft.add({ do: 'holding.change', words: 'ends now', ...ended, ...change });
  return [{ ...unchanged(draft, current), until: now }];
}

function planCreate(
  draft: PlanDraft,
  organisation: string,
  wanted: DesiredHolding,
): PlannedHolding {
  const { now } = draft.state;
  const { cidr, asn, serviceId, until, at, detection } = wanted;
  const content = { cidr, since: wanted.since ?? now, until, asn, serviceId };
  const { since } = content;
  if (inEffect(content, now)) refuseOrphansInside(draft, cidr, at);
  const start = wanted.since === null ? 'from now on' : `since ${describeValue(since)}`;
  const words = until === null ? start : `${start} until ${describeValue(until)}`;
  const subject = describeHolding(organisation, wanted);
  draft.add({ do: 'holding.create', sign: '+', ...content, subject, words, organisation }, at);
  const ref = { kind: 'new', organisation, cidr, since } as const;
  const { default: action } = wanted;
  return { ...content, ref, organisation, owner: 'fleet', at, detection, default: action };
}

function unchanged(draft: PlanDraft, current: CurrentHolding): PlannedHolding {
  const organisation = draft.slugOf(current.organisationId);
  const ref = { kind: 'existing', id: current.id } as const;
  return { ...current, ref, organisation, at: null, detection: null, default: null };
}

/** A more specific holding takes its addresses out of the holding that contains it, and their rules out of effect. */
function refuseOrphansInside(draft: PlanDraft, cidr: string, at: Position): void {
  const inside = draft.state.inside.get(cidr);
  if (inside === undefined) return;
  draft.lose(at, describeOrphans({ cidr, ...inside }, inside.organisation));
}

function refuseOverlaps(draft: PlanDraft, planned: readonly PlannedHolding[]): void {
  for (const [cidr, equal] of Map.groupBy(planned, (holding) => holding.cidr)) {
    const ordered = equal.toSorted((a, b) => a.since.getTime() - b.since.getTime());
    for (const [index, holding] of ordered.entries()) {
      const previous = ordered[index - 1];
      if (previous === undefined) continue;
      if (previous.until !== null && previous.until <= holding.since) continue;
      const [ours, other] = holding.at === null ? [previous, holding] : [holding, previous];
      if (ours.at === null) continue;
      const side = other.owner === 'portal' ? ', which was made by hand' : '';
      const until = other.until === null ? '' : ` until ${describeValue(other.until)}`;
      const message = `${cidr} is ${other.organisation}'s since ${describeValue(other.since)}${until}${side}: two cannot hold it at the same time.`;
      draft.refuse(ours.at, message);
    }
  }
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
    const holder = containing.find((holding) => inEffect(holding, this.#now));
    if (holder?.organisation === organisation) return { ref: holder.ref };
    const own = containing.filter((holding) => holding.organisation === organisation);
    const later = own.find(({ since }) => since > this.#now);
    if (later !== undefined) return { ref: later.ref };
    const ended = own.some(({ until, at }) => at !== null && until !== null && until <= this.#now);
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

function describeHolding(
  slug: string,
  { cidr, serviceId, asn }: Pick<HoldingContent, 'cidr' | 'serviceId' | 'asn'>,
): string {
  const of =
    serviceId === null ? (asn === null ? '' : ` under AS${asn}`) : ` of service ${serviceId}`;
  const shown = showCidr(cidr);
  return `${shown.includes('/') ? 'prefix' : 'address'} ${shown}${of} (${slug})`;
}

function describeOrphans(
  { cidr, liveObjects }: Pick<CurrentHolding, 'cidr' | 'liveObjects'>,
  slug: string,
): string {
  return `${showCidr(cidr)} of ${slug} has ${countOf(liveObjects, 'live firewall object')}, which would no longer be enforced.`;
}
