import { HOLDING, type HoldingObject } from '@portcullis/contract/schemas/declared/holding.ts';
import type { Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import { conflict, invalidField } from '../../problem.ts';
import { showCidr } from '../forms.ts';
import { type Current, defineKind, type Losing, type Refuse, type Wanted } from '../kind.ts';
import { summariseDetection } from './detection.ts';
import { findHoldingEntries, writeHolding } from './holding-entries.ts';
import {
  adoptHoldings,
  endHoldings,
  type HoldingFacts,
  loadHoldings,
  loadInside,
  saveHoldings,
  shortenHoldings,
} from './holding-table.ts';
import { describeHolding, describeOrphans } from './holding-words.ts';

type StoredHolding = Current<HoldingObject, HoldingFacts>;

/** A prefix or an address that an organisation holds for a time. Equal ones may not overlap. */
export const holding = defineKind<typeof HOLDING, HoldingObject, HoldingFacts>(HOLDING, {
  place: findHoldingEntries,
  write: (many) => many.map(writeHolding),
  key: ({ id, organisation, prefix, since }) =>
    id > 0 ? String(id) : `${organisation} ${prefix} ${since ?? ''}`,
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
    {
      kind: 'asn',
      pointer: '/asn',
      key: ({ asn }) => (asn === null ? null : String(asn)),
      accepts: ({ organisation }, named) => isOfNoneOr(organisation, named),
      missing: ({ asn }) =>
        `AS${asn} is neither the organisation's nor the operator's: list it in asns of one of them, or leave it out.`,
    },
    {
      kind: 'service',
      pointer: '/service',
      key: ({ service }) => (service === null ? null : String(service)),
      accepts: ({ organisation }, named) => Reflect.get(named, 'organisation') === organisation,
      missing: ({ service }) => `The organisation has no service ${service}: make it first.`,
    },
  ],
  check: checkHolding,
  /** Equal ones of a file overlap, which says more. */
  clash: () => null,
  checkAll: refuseOverlaps,
  match: matchHoldings,
  checkStored: refuseTaken,
  admit: requireFree,
  inherit(object, before, refuse) {
    if (before !== null && before.prefix !== object.prefix) {
      const why = `A holding of ${showCidr(before.prefix)} stays one: make another of ${showCidr(object.prefix)}, and end this one.`;
      refuse('/prefix', why);
    }
    return { ...object, id: before?.id ?? 0, since: object.since ?? before?.since ?? null };
  },
  load: (db, keys, organisation) => loadHoldings(db, { keys, organisation }),
  async lock(tx, key) {
    await lockRows(tx, 'holdings', [Number(key)], 'update');
  },
  adopt: adoptHoldings,
  prepare: shortenHoldings,
  save: saveHoldings,
  remove: endHoldings,
  subject: describeHolding,
  target: ({ prefix }) => showCidr(prefix),
  summary({ since, until, default: fallback, ...settings }) {
    const start = since === null ? 'from now on' : `since ${since}`;
    const end = until === null ? '' : ` until ${until}`;
    const verdict = fallback === null ? '' : `, default ${fallback}`;
    return start + end + verdict + summariseDetection(settings);
  },
  ending: (current) => (stays(current) ? 'ends now' : ''),
  isEnded: ({ facts: { isPast } }) => isPast,
  isPast: ({ facts: { isPast } }) => isPast,
  stays,
  obstacle: refuseOthersDefault,
  losses: describeLosses,
  endsElsewhere: loadInside,
  hindrance: (current) =>
    current.facts.isPast ? `The ${describeHolding(current.object)} has ended already.` : null,
});

/** It has been in effect and something refers to it, so that it ends and stays for the history. */
function stays({ facts }: StoredHolding): boolean {
  return facts.isPast || (facts.isReferenced && facts.hasBegun);
}

function isOfNoneOr(organisation: string, named: object): boolean {
  const owner: unknown = Reflect.get(named, 'organisation');
  return owner === null || owner === organisation;
}

function checkHolding({ asn, service, since, until }: HoldingObject, refuse: Refuse): void {
  if (asn !== null && service !== null) {
    refuse('/asn', 'What a service holds is announced under no ASN: name one of both.');
  }
  if (since !== null && until !== null && Date.parse(until) <= Date.parse(since)) {
    refuse('/until', 'A holding must end after it began.');
  }
}

interface Span {
  readonly organisation: string;
  readonly since: number;
  readonly until: number;
}

/** The time of a holding: one of a file without `since` began when it was first applied, at an unknown time. */
function spanOf({ organisation, since, until }: HoldingObject): Span {
  return {
    organisation,
    since: since === null ? Number.NEGATIVE_INFINITY : Date.parse(since),
    until: until === null ? Number.POSITIVE_INFINITY : Date.parse(until),
  };
}

/** Refuses equal networks of a file that are held at the same time: an address has one holder at any moment. */
function refuseOverlaps(
  objects: readonly HoldingObject[],
  refuse: (index: number, ...why: Parameters<Refuse>) => void,
): void {
  const all = objects.map((object, index) => ({ ...spanOf(object), index, prefix: object.prefix }));
  for (const [prefix, equal] of Map.groupBy(all, (one) => one.prefix)) {
    const ordered = equal.toSorted((a, b) => a.since - b.since);
    for (const [at, { index, since }] of ordered.entries()) {
      const previous = ordered[at - 1];
      if (previous === undefined || previous.until <= since) continue;
      refuse(index, '', `${prefix} is held by ${previous.organisation} at the same time.`);
    }
  }
}

/** Finds the row of each holding of a file: same organisation and network, preferably with the same start. */
function matchHoldings(
  objects: readonly HoldingObject[],
  all: readonly StoredHolding[],
): ReadonlyMap<number, StoredHolding> {
  const placeOf = ({ organisation, prefix }: HoldingObject) => `${organisation} ${prefix}`;
  const rows = Map.groupBy(
    all.filter(({ owner }) => owner === 'fleet'),
    ({ object }) => placeOf(object),
  );
  const [matched, taken] = [new Map<number, StoredHolding>(), new Set<StoredHolding>()];
  for (const fits of [beginsEqually, overlaps]) {
    for (const [index, object] of objects.entries()) {
      if (matched.has(index)) continue;
      const found = rows.get(placeOf(object))?.find((row) => !taken.has(row) && fits(row, object));
      if (found === undefined) continue;
      matched.set(index, found);
      taken.add(found);
    }
  }
  return matched;
}

function beginsEqually({ object }: StoredHolding, { since }: HoldingObject): boolean {
  return since !== null && object.since === since;
}

/** Matches, without `since`, the holding that continues; a holding that has ended stays as history. */
function overlaps(row: StoredHolding, wanted: HoldingObject): boolean {
  if (wanted.since === null) return !row.facts.isPast;
  const [stored, span] = [spanOf(row.object), spanOf(wanted)];
  return stored.since < span.until && span.since < stored.until;
}

/** The holding as it will be when the file no longer names it; null: it goes without a trace. */
function afterRemoval(row: StoredHolding): HoldingObject | null {
  const { object, owner, facts } = row;
  if (owner === 'portal' || facts.isPast) return object;
  return stays(row) ? { ...object, until: facts.now } : null;
}

/** Refuses holdings of a file that others have at that time, which were made by hand or are history. */
function refuseTaken(
  objects: readonly HoldingObject[],
  others: readonly StoredHolding[],
  refuse: (index: number, message: string) => void,
): void {
  const remaining = others.flatMap((row) => {
    const object = afterRemoval(row);
    return object === null ? [] : [{ ...row, object }];
  });
  const byPrefix = Map.groupBy(remaining, ({ object }) => object.prefix);
  for (const [index, object] of objects.entries()) {
    const taken = findOverlap(object, byPrefix.get(object.prefix) ?? []);
    if (taken !== null) refuse(index, describeHolder(taken));
  }
}

function findOverlap(
  object: HoldingObject,
  others: readonly StoredHolding[],
): StoredHolding | null {
  const found = others.find((other) => {
    const now = other.facts.now;
    const [span, stored] = [
      spanOf({ ...object, since: object.since ?? now }),
      spanOf(other.object),
    ];
    return stored.since < span.until && span.since < stored.until;
  });
  return found ?? null;
}

function describeHolder({
  object: { prefix, organisation, since, until },
  owner,
}: StoredHolding): string {
  const side = owner === 'portal' ? ', which was made by hand' : '';
  const end = until === null ? '' : ` until ${until}`;
  return `${prefix} is ${organisation}'s since ${since}${end}${side}: two cannot hold it at the same time.`;
}

async function requireFree(tx: Tx, { object, before }: Wanted<HoldingObject>): Promise<void> {
  const { prefix, since, until } = object;
  if (since === null && until !== null && Date.parse(until) <= Date.now()) {
    throw invalidField('/until', 'A holding must end after it began.');
  }
  const others = await loadHoldings(tx, { prefix });
  const taken = findOverlap(
    object,
    others.filter(({ id }) => id !== before?.id),
  );
  if (taken !== null) throw conflict(describeHolder({ ...taken, owner: 'fleet' }), '/prefix');
}

/** A default that a caller set stays until it is taken away, or handed to the file. */
function refuseOthersDefault(
  { object: before, facts: { othersDefault } }: StoredHolding,
  after: HoldingObject,
): string | null {
  if (othersDefault === null || after.default === before.default) return null;
  return `The default of ${showCidr(after.prefix)} was made by hand, not by a fleet file: --adopt hands it to this one.`;
}

function describeLosses({ before, after }: Losing<HoldingObject, HoldingFacts>): string[] {
  const { liveObjects, isPast, isInEffect } = before.facts;
  if (liveObjects === 0) return [];
  const ends = after === null ? !isPast : isInEffect && !willBeInEffect(before, after);
  return ends ? [describeOrphans(before.object, liveObjects)] : [];
}

/** Times of an object are whole seconds, those that are stored are not. */
function willBeInEffect({ object: before, facts }: StoredHolding, after: HoldingObject): boolean {
  const now = Date.parse(facts.now);
  const { since, until } = spanOf(after);
  const hasBegun = after.since === before.since ? facts.hasBegun : since <= now;
  return hasBegun && (after.until === before.until ? !facts.isPast : until > now);
}

/** A holding as it will be when a file has been applied. */
interface HoldingAfter {
  readonly object: HoldingObject;
  readonly before: StoredHolding | null;
  /** The file has it. */
  readonly isNamed: boolean;
}

/** Returns all holdings that there will be. */
export function holdingsAfter(
  objects: readonly HoldingObject[],
  rows: readonly StoredHolding[],
): HoldingAfter[] {
  const matched = matchHoldings(objects, rows);
  const named = new Set(matched.values());
  const wanted = objects.map((object, index) => {
    const before = matched.get(index) ?? null;
    const since = object.since ?? before?.object.since ?? null;
    return { object: { ...object, since }, before, isNamed: true };
  });
  const others = rows.flatMap((before) => {
    const object = named.has(before) ? null : afterRemoval(before);
    return object === null ? [] : [{ object, before, isNamed: false }];
  });
  return [...wanted, ...others];
}
