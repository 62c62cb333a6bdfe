import type { ScopeSettings } from '@portcullis/core/attacks/scope-settings.ts';
import { formatCidr, formatNetwork, networkOf, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { HoldingRef } from './change.ts';
import type { DesiredHolding, DesiredOrganisation } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import { countOf, PlanDraft, wordDifferences } from './draft.ts';
import type { CurrentHolding, FleetState } from '../state/state.ts';

/** A holding as it will be when the plan is carried out. */
export interface PlannedHolding {
  readonly ref: HoldingRef;
  readonly organisation: string;
  readonly cidr: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly serviceId: number | null;
  readonly asn: number | null;
  readonly owner: CurrentHolding['owner'];
  /** Null: the file says nothing of it. */
  readonly at: Position | null;
  /** Null likewise. */
  readonly detection: ScopeSettings | null;
}

/** Plans every holding of the file and of the file's side, and tells what there will be. */
export function planHoldings(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
): PlannedHolding[] {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const matched = matchHoldings(state, organisations, slugs);
  const planned: PlannedHolding[] = [];
  for (const current of state.holdings) {
    const slug = slugs.get(current.organisationId) ?? '';
    const wanted = matched.get(current);
    if (wanted !== undefined) planned.push(planChange(draft, state, slug, current, wanted));
    else if (current.owner === 'portal') planned.push(asItIs(slug, current));
    else planned.push(...planDrop(draft, state.now, slug, current));
  }
  const known = new Set(matched.values());
  for (const { slug, holdings } of organisations) {
    for (const holding of holdings) {
      if (!known.has(holding)) planned.push(planCreate(draft, state, slug, holding));
    }
  }
  refuseOverlaps(draft, planned);
  return planned;
}

/** Finds the row of each holding of the file: its organisation's on the same network, the same time first. */
function matchHoldings(
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
  slugs: ReadonlyMap<number, string>,
): Map<CurrentHolding, DesiredHolding> {
  const rows = Map.groupBy(
    state.holdings.filter(({ owner }) => owner === 'fleet'),
    ({ organisationId, cidr }) => `${slugs.get(organisationId)} ${cidr}`,
  );
  const matched = new Map<CurrentHolding, DesiredHolding>();
  const best = [sameStart, overlapping(state.now)];
  for (const fits of best) {
    const taken = new Set(matched.values());
    for (const { slug, holdings } of organisations) {
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

/** Without `since` it is the one that goes on; one that ended stays history, and a new one begins. */
function overlapping(now: Date) {
  return (row: CurrentHolding, wanted: DesiredHolding): boolean => {
    if (wanted.since === null) return row.until === null || row.until > now;
    const begins = wanted.until === null || row.since < wanted.until;
    return begins && (row.until === null || wanted.since < row.until);
  };
}

function planChange(
  draft: PlanDraft,
  state: FleetState,
  slug: string,
  current: CurrentHolding,
  wanted: DesiredHolding,
): PlannedHolding {
  const { asn, serviceId, until, at } = wanted;
  const since = wanted.since ?? current.since;
  const before = {
    since: current.since,
    until: current.until,
    asn: current.asn,
    service: current.serviceId,
  };
  const words = wordDifferences(before, { since, until, asn, service: serviceId });
  const { id, cidr } = current;
  if (words !== '') {
    const had = inEffect(current, state.now);
    const has = inEffect({ since, until }, state.now);
    if (had && !has && current.liveObjects > 0) draft.orphan(at, wordOrphans(current, slug));
    if (!had && has) refuseCarving(draft, state, cidr, at);
    const subject = wordHolding(slug, wanted);
    const change = { sign: '~', subject, words, organisation: slug } as const;
    draft.add({ do: 'holding.change', id, cidr, since, until, asn, serviceId, ...change }, at);
  }
  return asWanted({ kind: 'existing', id }, slug, { ...wanted, cidr, since });
}

/** What nothing ever hung on is deleted; the rest ends now and is history. What ended before is history already. */
function planDrop(
  draft: PlanDraft,
  now: Date,
  slug: string,
  current: CurrentHolding,
): PlannedHolding[] {
  if (current.until !== null && current.until <= now) return [asItIs(slug, current)];
  if (current.liveObjects > 0) draft.orphan(PlanDraft.fileStart, wordOrphans(current, slug));
  const { id, cidr, since, asn, serviceId } = current;
  const told = { sign: '-', subject: wordHolding(slug, current), organisation: slug } as const;
  if (!current.referenced || since >= now) {
    draft.add({ do: 'holding.delete', id, cidr, words: '', ...told });
    return [];
  }
  draft.add(
    {
      do: 'holding.change',
      id,
      cidr,
      since,
      until: now,
      asn,
      serviceId,
      words: 'ends now',
      ...told,
    },
    PlanDraft.fileStart,
  );
  return [{ ...asItIs(slug, current), until: now }];
}

function planCreate(
  draft: PlanDraft,
  state: FleetState,
  slug: string,
  wanted: DesiredHolding,
): PlannedHolding {
  const { cidr, asn, serviceId, until, at } = wanted;
  const since = wanted.since ?? state.now;
  if (inEffect({ since, until }, state.now)) refuseCarving(draft, state, cidr, at);
  const begins = wanted.since === null ? 'from now on' : `since ${moment(since)}`;
  const words = until === null ? begins : `${begins} until ${moment(until)}`;
  draft.add(
    {
      do: 'holding.create',
      cidr,
      since,
      until,
      asn,
      serviceId,
      sign: '+',
      subject: wordHolding(slug, wanted),
      words,
      organisation: slug,
    },
    at,
  );
  const ref = { kind: 'new', organisation: slug, cidr, since } as const;
  return asWanted(ref, slug, { ...wanted, since });
}

function asWanted(
  ref: PlannedHolding['ref'],
  organisation: string,
  { cidr, since, until, asn, serviceId, at, detection }: DesiredHolding & { readonly since: Date },
): PlannedHolding {
  return { ref, organisation, cidr, since, until, asn, serviceId, owner: 'fleet', at, detection };
}

/** A more specific holding takes its addresses out of the one around them, and their rules out of effect. */
function refuseCarving(draft: PlanDraft, state: FleetState, cidr: string, at: Position): void {
  const inside = state.inside.get(cidr);
  if (inside !== undefined) draft.orphan(at, wordOrphans({ cidr, ...inside }, inside.organisation));
}

function asItIs(slug: string, current: CurrentHolding): PlannedHolding {
  const { id, cidr, since, until, asn, serviceId, owner } = current;
  const ref = { kind: 'existing', id } as const;
  const nothing = { at: null, detection: null };
  return { ref, organisation: slug, cidr, since, until, asn, serviceId, owner, ...nothing };
}

function refuseOverlaps(draft: PlanDraft, planned: readonly PlannedHolding[]): void {
  for (const [cidr, equal] of Map.groupBy(planned, (holding) => holding.cidr)) {
    const ordered = equal.toSorted((a, b) => a.since.getTime() - b.since.getTime());
    for (const [index, holding] of ordered.entries()) {
      const before = ordered[index - 1];
      if (before === undefined || endOf(before) <= holding.since.getTime()) continue;
      const [ours, other] = holding.at === null ? [before, holding] : [holding, before];
      if (ours.at === null) continue;
      const side = other.owner === 'portal' ? ', which belongs to the portal; change it there' : '';
      const until = other.until === null ? '' : ` until ${moment(other.until)}`;
      const message = `${cidr} is ${other.organisation}'s since ${moment(other.since)}${until}${side}: two cannot hold it at the same time.`;
      draft.refuse(ours.at, message);
    }
  }
}

/** Finds the most specific holding of now around a target, among those that there will be. */
export class HoldingIndex {
  readonly #byCidr: Map<string, PlannedHolding[]>;
  readonly #now: Date;

  constructor(planned: readonly PlannedHolding[], now: Date) {
    this.#byCidr = Map.groupBy(planned, ({ cidr }) => cidr);
    this.#now = now;
  }

  /**
   * Where an assignment of `organisation` to `target` belongs: its holding of now, or one that begins later.
   * `ended`: it had it, so there is nothing to assign to any more. Null: it does not have it, and says who does.
   */
  find(
    organisation: string,
    target: string,
  ): { readonly ref: HoldingRef } | { readonly ended: true } | { readonly holder: string | null } {
    const around = this.#around(target);
    const holder = around.find((holding) => inEffect(holding, this.#now));
    if (holder?.organisation === organisation) return { ref: holder.ref };
    const own = around.filter((holding) => holding.organisation === organisation);
    const later = own.find(({ since }) => since > this.#now);
    if (later !== undefined) return { ref: later.ref };
    if (own.some(({ at }) => at !== null && holder?.at !== at)) {
      const gone = own.some(({ until, at }) => at !== null && until !== null && until <= this.#now);
      if (gone) return { ended: true };
    }
    return { holder: holder?.organisation ?? null };
  }

  #around(target: string): PlannedHolding[] {
    const parsed = parseCidr(target);
    if (!parsed.ok) return [];
    const found: PlannedHolding[] = [];
    for (let length = parsed.value.length; length >= 0; length -= 1) {
      found.push(...(this.#byCidr.get(formatCidr(networkOf(parsed.value, length))) ?? []));
    }
    return found;
  }
}

export function inEffect(
  { since, until }: { readonly since: Date; readonly until: Date | null },
  now: Date,
): boolean {
  return since <= now && (until === null || until > now);
}

function endOf({ until }: { readonly until: Date | null }): number {
  return until?.getTime() ?? Number.POSITIVE_INFINITY;
}

function wordHolding(
  slug: string,
  {
    cidr,
    serviceId,
    asn,
  }: { readonly cidr: string; readonly serviceId: number | null; readonly asn: number | null },
): string {
  const of = serviceId === null ? `under AS${asn}` : `of service ${serviceId}`;
  return `${serviceId === null ? 'prefix' : 'address'} ${showCidr(cidr)} ${of} (${slug})`;
}

function wordOrphans(
  { cidr, liveObjects }: Pick<CurrentHolding, 'cidr' | 'liveObjects'>,
  slug: string,
): string {
  return `${showCidr(cidr)} of ${slug} has ${countOf(liveObjects, 'live firewall object')}, which would no longer be enforced.`;
}

/** As people write it: a single address without its length. */
export function showCidr(cidr: string): string {
  const parsed = parseCidr(cidr);
  return parsed.ok ? formatNetwork(parsed.value) : cidr;
}

function moment(date: Date): string {
  return date.toISOString().replace('.000Z', '+00:00');
}
