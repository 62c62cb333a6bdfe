import {
  BLOCKED_LIST,
  type BlockedListObject,
  MAX_BLOCKED,
} from '@portcullis/contract/schemas/declared/blocked-list.ts';
import { countOf } from '@portcullis/core/count.ts';
import { familyOf } from '@portcullis/core/firewall/rules/content.ts';
import { parseCidr, wholeFamily } from '@portcullis/core/net/cidr.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import { conflict } from '../../problem.ts';
import { endBlocked, saveBlocked } from '../../firewall/blocked/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import {
  APPENDED,
  type Current,
  defineKind,
  type FilePart,
  type Placed,
  type Refuse,
  type Spread,
  type Wanted,
  type Written,
} from '../kind.ts';
import { showCidr } from '../forms.ts';
import { momentTextOf } from '../moments.ts';
import { placeAll, shorten } from './placing.ts';

type Source = BlockedListObject['sources'][number];

interface Facts extends Placed {
  readonly organisationId: number;
  /** Where each source is blocked; null: on everything. */
  readonly rows: readonly { readonly source: string; readonly holdingId: number | null }[];
}

type StoredList = Current<BlockedListObject, Facts>;

/** The sources that an organisation blocks on a target. The file and others may have a list of the same target. */
export const blockedList = defineKind<typeof BLOCKED_LIST, BlockedListObject, Facts>(BLOCKED_LIST, {
  place: '/organisations/{organisation}/blocked_sources/*',
  spread,
  write: joinTargets,
  combine,
  key: keyOf,
  isTwoSided: true,
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
  ],
  targets,
  without: (object, ended) => (ended.has(object.target) ? null : object),
  check({ sources }, refuse) {
    for (const [index, { source }] of sources.entries()) {
      const cidr = parseCidr(source);
      if (!cidr.ok || !wholeFamily(cidr.value)) continue;
      const pointer = `/sources/${index}/source`;
      refuse(pointer, `${source} is every address: set default: deny instead.`);
    }
  },
  checkByHand({ target, sources }, refuse) {
    if (target === 'all') return;
    for (const [index, { source }] of sources.entries()) {
      if (familyOf(source) === familyOf(target)) continue;
      refuse(`/sources/${index}/source`, `${source} is of the other family than ${target}.`);
    }
  },
  checkAll: refuseTooMany,
  match: matchLists,
  async admit(tx, wanted) {
    await placeAll(tx, targets, [wanted]);
    await refuseOfFile(tx, wanted);
  },
  load: loadLists,
  save: saveLists,
  async remove(batch, many) {
    for (const list of many) await endSources(batch, list, list.facts.rows);
  },
  subject: ({ organisation, target }) =>
    `blocked sources on ${target === 'all' ? 'everything' : showCidr(target)} (${organisation})`,
  summary: ({ sources }) => describeSources(sources),
  shown: () => ({}),
  further: ({ object }, { sources }) => describeChanges(object.sources, sources),
  ending: ({ object: { sources } }) => describeSources(sources),
});

function keyOf({ organisation, target }: Pick<BlockedListObject, 'organisation' | 'target'>) {
  return `${organisation} ${target}`;
}

function targets({ target }: BlockedListObject) {
  return target === 'all' ? [] : [{ pointer: '/target', target }];
}

/** An entry of a file blocks the same sources on each of its addresses, or on everything. */
function spread(entry: object): Spread[] {
  const { organisation, sources, addresses, note } = entry as {
    readonly organisation: string;
    readonly sources: readonly string[];
    readonly addresses?: readonly string[];
    readonly note?: string;
  };
  const listed = sources.map((source) => ({ source, note }));
  const at = sources.map((_, index) => [`/sources/${index}/source`, `/sources/${index}`] as const);
  return (addresses ?? ['all']).map((target, index) => ({
    value: { organisation, target, sources: listed },
    pointers: { ...Object.fromEntries(at), '/target': addresses ? `/addresses/${index}` : '' },
  }));
}

/** The inverse of `spread`: sources of one note are an entry, and so are targets that block the same ones. */
function joinTargets(many: readonly Written<BlockedListObject, Facts>[]): FilePart[] {
  const entries = many.flatMap((one) =>
    [...Map.groupBy(one.object.sources, ({ note }) => note)].map(([note, sources]) => ({
      one,
      note,
      sources: sources.map(({ source }) => showCidr(source)),
    })),
  );
  const alike = Map.groupBy(entries, ({ one: { object }, note, sources }) =>
    JSON.stringify([object.organisation, object.target === 'all', note, sources]),
  );
  return [...alike.values()].flatMap((of): FilePart[] => {
    const [first] = of;
    if (first === undefined) return [];
    const { organisation, target } = first.one.object;
    const addresses = of.map(({ one }) => showCidr(one.object.target));
    const value = {
      sources: first.sources,
      ...(target !== 'all' && { addresses }),
      ...(first.note !== '' && { note: first.note }),
    };
    return [
      {
        path: ['organisations', organisation, 'blocked_sources', APPENDED],
        value,
        of: of.map(({ one }) => one),
      },
    ];
  });
}

function combine(
  one: BlockedListObject,
  other: BlockedListObject,
  refuse: Refuse,
): BlockedListObject {
  const known = new Set(one.sources.map(({ source }) => source));
  for (const [index, { source }] of other.sources.entries()) {
    if (known.has(source)) refuse(`/sources/${index}`, `${source} is blocked there twice.`);
  }
  return { ...one, sources: [...one.sources, ...other.sources] };
}

function refuseTooMany(
  objects: readonly BlockedListObject[],
  refuse: (index: number, ...why: Parameters<Refuse>) => void,
): void {
  const counts = new Map<string, number>();
  for (const [index, { organisation, sources }] of objects.entries()) {
    const before = counts.get(organisation) ?? 0;
    const count = before + sources.length;
    counts.set(organisation, count);
    if (before > MAX_BLOCKED || count <= MAX_BLOCKED) continue;
    const many = `These are more than ${MAX_BLOCKED} blocked sources, and an organisation may have so many`;
    refuse(index, '', `${many}: block the networks around them.`);
  }
}

/** Finds the list of the file of each target. What was blocked by hand there stays so, with its note. */
function matchLists(
  objects: readonly BlockedListObject[],
  rows: readonly StoredList[],
): ReadonlyMap<number, StoredList> {
  const lists = Map.groupBy(rows, ({ object }) => keyOf(object));
  const matched = new Map<number, StoredList>();
  for (const [index, object] of objects.entries()) {
    const found = lists.get(keyOf(object)) ?? [];
    const own = found.find(({ owner }) => owner === 'fleet');
    const known = new Set(own?.object.sources.map(({ source }) => source));
    const byHand = new Set(
      found
        .filter(({ owner }) => owner === 'portal')
        .flatMap((list) => list.object.sources.map(({ source }) => source)),
    );
    const same = object.sources.filter(({ source }) => byHand.has(source) && !known.has(source));
    const list = own ?? (same.length > 0 ? found[0] : undefined);
    if (list === undefined) continue;
    const sources = [...(own?.object.sources ?? []), ...same];
    matched.set(index, { ...list, owner: 'fleet', object: { ...list.object, sources } });
  }
  return matched;
}

/** 422 for a source that the file blocks there: a list by hand would not have it. */
async function refuseOfFile(tx: Tx, { object }: Wanted<BlockedListObject>): Promise<void> {
  const lists = await loadLists(tx, [keyOf(object)]);
  const sourcesOf = (side: StoredList['owner']) =>
    new Set(
      lists
        .filter(({ owner }) => owner === side)
        .flatMap((list) => list.object.sources.map(({ source }) => source)),
    );
  const [ofFile, own] = [sourcesOf('fleet'), sourcesOf('portal')];
  const index = object.sources.findIndex(({ source }) => ofFile.has(source) && !own.has(source));
  if (index < 0) return;
  const detail = `${showCidr(object.sources[index]?.source ?? '')} is blocked there by the fleet file: leave it out.`;
  throw conflict(detail, `/sources/${index}/source`);
}

interface ListRow extends BlockedListObject, Omit<Facts, 'places'> {
  readonly id: number;
  readonly owner: StoredList['owner'];
}

/** Loads of each target the list of the portal first: by hand that one is changed. */
async function loadLists(
  db: Db | Tx,
  keys?: readonly string[],
  organisation?: string,
): Promise<StoredList[]> {
  const { rows } = await sql<ListRow>`
    select min(b.id) as id, o.id as "organisationId", o.slug as organisation, ${TARGET} as target, b.owner,
           json_agg(json_build_object('source', b.source, 'note', b.note, 'expires_at',
             ${momentTextOf(sql`b.expires_at`)}) order by b.id) as sources,
           json_agg(json_build_object('source', b.source, 'holdingId', b.holding_id)) as rows
      from blocked_sources b join organisations o on o.id = b.organisation_id
      left join holdings h on h.id = b.holding_id
     where b.deleted_generation is null and (h.id is null or upper_inf(h.during) or upper(h.during) > now())
       and ${searchOf(keys, organisation)}
     group by o.id, o.slug, b.target, b.owner order by o.slug, b.target nulls first, b.owner desc`.execute(
    db,
  );
  return rows.map(({ id, owner, organisationId, rows: places, ...object }) => {
    const held = places.flatMap(({ holdingId }) => holdingId ?? []);
    const at = [...new Set(held)].map((holdingId) => ({ id, target: object.target, holdingId }));
    return { id, owner, object, facts: { organisationId, rows: places, places: at } };
  });
}

const TARGET = sql`coalesce(b.target::text, 'all')`;

function searchOf(keys?: readonly string[], organisation?: string): RawBuilder<unknown> {
  if (keys !== undefined) return sql`o.slug || ' ' || ${TARGET} = any(${keys}::text[])`;
  return organisation === undefined ? sql`true` : sql`o.slug = ${organisation}`;
}

/** Ends what lists no longer have, and blocks what they have not yet. */
async function saveLists(batch: Batch, many: readonly Wanted<BlockedListObject>[]): Promise<void> {
  const { tx } = batch;
  const keys = many.map(({ object }) => keyOf(object));
  const stored = (await loadLists(tx, keys)).filter(({ owner }) => owner === batch.owner);
  const lists = new Map(stored.map((list) => [keyOf(list.object), list]));
  const placed = await placeAll(tx, targets, many);
  const organisations = await loadIds(tx, many);
  // Before their sources, as `saveBlocked` takes it again.
  await lockRows(tx, 'organisations', [...organisations.values()], 'no key update');
  for (const { one, places } of placed) {
    const { object } = one;
    const holdingId = places[0]?.holdingId ?? null;
    const list = lists.get(keyOf(object));
    const wanted = new Set(object.sources.map(({ source }) => source));
    const isGone = (row: Facts['rows'][number]) =>
      row.holdingId !== holdingId || !wanted.has(row.source);
    if (list !== undefined) await endSources(batch, list, list.facts.rows.filter(isGone));
    const there = new Set(list?.facts.rows.filter((row) => !isGone(row)).map((row) => row.source));
    const known = new Set(
      list?.object.sources.filter(({ source }) => there.has(source)).map(contentOf),
    );
    const changed = object.sources.filter((source) => !known.has(contentOf(source)));
    const organisationId = organisations.get(object.organisation) ?? 0;
    const target = object.target === 'all' ? null : object.target;
    for (const [first, ...others] of Map.groupBy(changed, markOf).values()) {
      if (first === undefined) continue;
      const { note, expires_at: expires } = first;
      const sources = [first, ...others].map(({ source }) => source);
      await saveBlocked(batch, { organisationId, holdingId, target }, { sources, note, expires });
    }
  }
}

async function loadIds(tx: Tx, many: readonly Wanted<BlockedListObject>[]) {
  const slugs = many.map(({ object }) => object.organisation);
  const { rows } = await sql<{ id: number; slug: string }>`
    select id, slug from organisations where slug = any(${slugs}::text[])`.execute(tx);
  return new Map(rows.map(({ id, slug }) => [slug, id]));
}

async function endSources(
  batch: Batch,
  { object, facts: { organisationId } }: StoredList,
  rows: Facts['rows'],
): Promise<void> {
  const target = object.target === 'all' ? null : object.target;
  for (const [holdingId, ended] of Map.groupBy(rows, (row) => row.holdingId)) {
    const sources = ended.map(({ source }) => source);
    await endBlocked(batch, { organisationId, holdingId, target }, sources);
  }
}

function markOf({ note, expires_at: expires }: Source): string {
  return `${expires} ${note}`;
}

function contentOf(one: Source): string {
  return `${one.source} ${markOf(one)}`;
}

function describeSources(sources: readonly Source[]): string {
  const named = shorten(sources.map(({ source }) => showCidr(source))).join(', ');
  return sources.length > 10 ? `${countOf(sources.length, 'network')}: ${named}` : named;
}

function describeChanges(before: readonly Source[], after: readonly Source[]): string[] {
  const [was, is] = [new Map(before.map(keyed)), new Map(after.map(keyed))];
  const isOther = (one: Source): boolean => {
    const other = was.get(one.source);
    return other !== undefined && markOf(other) !== markOf(one);
  };
  return shorten([
    ...before.filter(({ source }) => !is.has(source)).map((one) => `- ${showCidr(one.source)}`),
    ...after.filter(({ source }) => !was.has(source)).map((one) => `+ ${showCidr(one.source)}`),
    ...after.filter(isOther).map((one) => `~ ${showCidr(one.source)}`),
  ]);
}

function keyed(one: Source): readonly [string, Source] {
  return [one.source, one];
}
