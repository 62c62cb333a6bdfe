import type { HoldingObject } from '@portcullis/contract/schemas/declared/holding.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import { setDefault } from '../../firewall/defaults/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import type { Current, Wanted } from '../kind.ts';
import { momentTextOf } from '../moments.ts';
import { type Detected, fromDetected, toDetected } from './detection.ts';
import { describeOrphans } from './holding-words.ts';

export interface HoldingFacts {
  /** Live rules and filters of callers, and assignments of the portal. */
  readonly liveObjects: number;
  /** Other rows refer to it, even if only for the history. */
  readonly isReferenced: boolean;
  readonly hasBegun: boolean;
  readonly isInEffect: boolean;
  readonly isPast: boolean;
  /** The default of the whole holding, where it is not of the holding's side; null: none. */
  readonly othersDefault: string | null;
  /** The clock of the database, which decides whether a holding is in effect. */
  readonly now: string;
}

type HoldingRow = Detected<HoldingObject> &
  HoldingFacts & { readonly id: number; readonly owner: Owner };

/** The holdings to be read: those of keys, of an organisation, or of equal networks. */
interface HoldingSearch {
  readonly keys?: readonly string[] | undefined;
  readonly organisation?: string | undefined;
  readonly prefix?: string;
}

/** The moment of the transaction, in whole milliseconds, as in a Date. */
const NOW = sql`date_trunc('milliseconds', now())`;

/** Every holding that is searched for, also past ones. */
export async function loadHoldings(
  db: Db | Tx,
  search: HoldingSearch = {},
): Promise<Current<HoldingObject, HoldingFacts>[]> {
  const { rows } = await sql<HoldingRow>`
    with wanted as materialized (
      select h.*, o.slug from holdings h join organisations o on o.id = h.organisation_id
       where ${searchOf(search)}
    ), own as (
      select a.holding_id, sum(
               (select count(*) from rules r where r.address_id = a.id and r.deleted_generation is null)
             + (select count(*) from filters f where f.address_id = a.id and f.deleted_generation is null)
             ) as live
        from addresses a join wanted w on w.id = a.holding_id group by a.holding_id
    ), assigned as (${assignments('group_assignments', 'groups', 'group_id')}
    ), located as (${assignments('geo_assignments', 'geo_rules', 'geo_rule_id')}
    ), defaulted as (${byCallers('default_actions')}
    ), blocked as (${byCallers('blocked_sources')}
    )
    select h.id, h.slug as organisation, h.cidr::text as prefix, h.asn, h.service_id as service,
           ${momentTextOf(sql`lower(h.during)`)} as since, ${momentTextOf(sql`upper(h.during)`)} as until, h.owner,
           case when d.owner = h.owner then d.action end as default, h.detection,
           case when d.owner <> h.owner then d.action end as "othersDefault",
           (coalesce(own.live, 0) + coalesce(assigned.live, 0) + coalesce(located.live, 0)
             + coalesce(defaulted.live, 0) + coalesce(blocked.live, 0))::integer as "liveObjects",
           (own.holding_id is not null or assigned.holding_id is not null or located.holding_id is not null
             or defaulted.holding_id is not null or blocked.holding_id is not null) as "isReferenced",
           lower(h.during) < ${NOW} as "hasBegun", h.during @> ${NOW} as "isInEffect",
           coalesce(upper(h.during) <= ${NOW}, false) as "isPast", ${momentTextOf(NOW)} as now
      from wanted h
      left join own on own.holding_id = h.id
      left join assigned on assigned.holding_id = h.id
      left join located on located.holding_id = h.id
      left join defaulted on defaulted.holding_id = h.id
      left join blocked on blocked.holding_id = h.id
      left join default_actions d
        on d.holding_id = h.id and d.target = h.cidr and d.deleted_generation is null
     order by h.cidr, h.id`.execute(db);
  return rows.map(currentOf);
}

function searchOf({ keys, organisation, prefix }: HoldingSearch): RawBuilder<unknown> {
  if (organisation !== undefined) return sql`o.slug = ${organisation}`;
  if (prefix !== undefined) return sql`h.cidr = ${prefix}::cidr`;
  if (keys === undefined) return sql`true`;
  const made = keys.map((key) => key.split(' ')).filter(({ length }) => length > 1);
  const places = made.map(([slug, cidr, since]) => ({ slug, cidr, since: since || null }));
  const ids = keys.filter((key) => /^\d+$/.test(key));
  return sql`h.id = any(${ids}::bigint[]) or (o.slug, h.cidr, lower(h.during)) in (
    select slug, cidr, coalesce(since, ${NOW})
      from jsonb_to_recordset(${JSON.stringify(places)}::jsonb) as p (slug text, cidr cidr, since timestamptz))`;
}

function assignments(table: string, of: string, column: string): RawBuilder<unknown> {
  return sql`
    select a.holding_id, count(*) filter (where a.deleted_generation is null and g.owner = 'portal') as live
      from ${sql.table(table)} a join ${sql.table(of)} g on g.id = ${sql.ref(`a.${column}`)}
      join wanted w on w.id = a.holding_id group by a.holding_id`;
}

function byCallers(table: string): RawBuilder<unknown> {
  return sql`
    select a.holding_id, count(*) filter (where a.deleted_generation is null and a.owner = 'portal') as live
      from ${sql.table(table)} a join wanted w on w.id = a.holding_id group by a.holding_id`;
}

function currentOf({ id, owner, ...row }: HoldingRow): Current<HoldingObject, HoldingFacts> {
  const { organisation, prefix, asn, service, since, until, default: fallback, detection } = row;
  const { liveObjects, isReferenced, hasBegun, isInEffect, isPast, othersDefault, now } = row;
  const facts = { liveObjects, isReferenced, hasBegun, isInEffect, isPast, othersDefault, now };
  const of = { organisation, id, prefix, asn, service, since, until, default: fallback, detection };
  return fromDetected<HoldingObject, HoldingFacts>({ id, owner, object: of, facts });
}

/**
 * Finds live objects on addresses that belong to a wider holding now, and would not once a holding is in effect.
 * `offset 0` makes PostgreSQL look the wider holdings up by the index, not compare all networks with all holdings.
 */
export async function loadInside(
  db: Db | Tx,
  objects: readonly HoldingObject[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await sql<{ network: string; organisation: string; liveObjects: number }>`
    select w.network, min(o.slug) as organisation, sum(
             (select count(*) from rules r where r.address_id = a.id and r.deleted_generation is null)
           + (select count(*) from filters f where f.address_id = a.id and f.deleted_generation is null)
           )::integer as "liveObjects"
      from (select distinct prefix as network
              from jsonb_to_recordset(${JSON.stringify(objects)}::jsonb) as o
                (prefix cidr, since timestamptz, until timestamptz)
             where coalesce(since, ${NOW}) <= ${NOW} and (until is null or until > ${NOW})) as w
     cross join lateral (select id, cidr, organisation_id from holdings
                         where cidr >> w.network and during @> now() offset 0) as h
      join organisations o on o.id = h.organisation_id
      join addresses a on a.holding_id = h.id and a.ip <<= w.network
     where not exists (select from holdings n
                        where n.cidr >>= a.ip and n.cidr << h.cidr and n.during @> now())
     group by w.network`.execute(db);
  const inside = new Map(rows.map((row) => [row.network, row]));
  const found = new Map<string, readonly string[]>();
  for (const object of objects) {
    const { id, prefix } = object;
    const { organisation: loser, liveObjects } = inside.get(prefix) ?? { liveObjects: 0 };
    if (loser === undefined || liveObjects === 0) continue;
    const words = describeOrphans({ prefix, organisation: loser }, liveObjects);
    found.set(id > 0 ? String(id) : keyOf(object), [words]);
  }
  return found;
}

/** A changed holding for its statement. A time that stays keeps its milliseconds, which its text does not have. */
function movedOf({ object, before }: Wanted<HoldingObject>) {
  const { detection, asn, service } = toDetected(object);
  return {
    id: before?.id,
    since: object.since === before?.object.since ? null : object.since,
    until: object.until,
    keepsEnd: object.until === before?.object.until,
    asn,
    service,
    detection,
  };
}

const movedRows = (many: readonly Wanted<HoldingObject>[]) => sql`(
  select g.*, tstzrange(coalesce(g.since, lower(h.during)),
                        case when g."keepsEnd" then upper(h.during) else g.until end) as span
    from jsonb_to_recordset(${JSON.stringify(many.map(movedOf))}::jsonb) as g
      (id bigint, since timestamptz, until timestamptz, "keepsEnd" boolean, asn bigint, service integer, detection jsonb)
    join holdings h on h.id = g.id)`;

/**
 * Shortens each changed holding to the intersection of its old and new time. The new times do not overlap each other, so
 * that later changes cannot overlap either, in any order.
 */
export async function shortenHoldings(
  { tx }: Batch,
  many: readonly Wanted<HoldingObject>[],
): Promise<void> {
  const changed = many.filter(({ before }) => before !== null);
  if (changed.length === 0) return;
  await sql`
    update holdings set during = holdings.during * w.span from ${movedRows(changed)} as w
     where holdings.id = w.id and holdings.during && w.span`.execute(tx);
}

/** Creates and changes holdings, of the side that writes. One that another has at that time breaks `holdings_one_holder`. */
export async function saveHoldings(
  batch: Batch,
  many: readonly Wanted<HoldingObject>[],
): Promise<void> {
  batch.touch(...many.filter(isMoved).map(({ object }) => object.prefix));
  const created = many.filter(({ before }) => before === null);
  const changed = many.filter(({ before }) => before !== null);
  if (created.length > 0) await createHoldings(batch, created);
  if (changed.length > 0) {
    await sql`
      update holdings set during = w.span, asn = w.asn, service_id = w.service, detection = w.detection
        from ${movedRows(changed)} as w where holdings.id = w.id`.execute(batch.tx);
  }
  await saveDefaults(batch, many);
}

function isMoved({ object, before }: Wanted<HoldingObject>): boolean {
  const contentOf = ({ since, until, asn, service }: HoldingObject) =>
    [since, until, asn, service].join(' ');
  return before === null || contentOf(before.object) !== contentOf(object);
}

async function createHoldings(batch: Batch, many: readonly Wanted<HoldingObject>[]): Promise<void> {
  const rows = many.map(({ object }) => toDetected(object));
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, service_id, detection, owner)
    select o.id, w.prefix, tstzrange(coalesce(w.since, ${NOW}), w.until), w.asn, w.service, w.detection,
           ${batch.owner}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as w
        (organisation text, prefix cidr, since timestamptz, until timestamptz, asn bigint, service integer, detection jsonb)
      join organisations o on o.slug = w.organisation`.execute(batch.tx);
}

/** Sets the defaults of whole holdings that change. */
async function saveDefaults(batch: Batch, many: readonly Wanted<HoldingObject>[]): Promise<void> {
  const changed = many.filter(
    ({ object, before }) => object.default !== (before?.object.default ?? null),
  );
  if (changed.length === 0) return;
  const made = changed.filter(({ before }) => before === null).map(({ object }) => keyOf(object));
  const rows = made.length === 0 ? [] : await loadHoldings(batch.tx, { keys: made });
  const ids = new Map(
    rows.flatMap(({ id, object }) => [
      [keyOf(object), id] as const,
      [keyOf({ ...object, since: null }), id] as const,
    ]),
  );
  for (const { object, before } of changed) {
    const holdingId = before?.id ?? ids.get(keyOf(object)) ?? 0;
    await setDefault(batch, { holdingId, target: object.prefix }, object.default);
  }
}

function keyOf({ organisation, prefix, since }: HoldingObject): string {
  return `${organisation} ${prefix} ${since ?? ''}`;
}

const OF_HOLDING = [
  'addresses',
  'group_assignments',
  'geo_assignments',
  'default_actions',
  'blocked_sources',
  'server_openings',
];

/** Ends holdings now. One that nothing refers to, or that never began, goes without a trace. */
export async function endHoldings(
  batch: Batch,
  many: readonly Current<HoldingObject, HoldingFacts>[],
): Promise<void> {
  batch.touch(...many.map(({ object }) => object.prefix));
  const isKept = ({ facts }: (typeof many)[number]) => facts.isReferenced && facts.hasBegun;
  const ended = many.filter(isKept).map(({ id }) => id);
  const deleted = many.filter((one) => !isKept(one)).map(({ id }) => id);
  const { tx } = batch;
  await sql`
    update holdings set during = tstzrange(lower(during), ${NOW})
     where id = any(${ended}::bigint[])`.execute(tx);
  if (deleted.length === 0) return;
  for (const table of ['rules', 'filters']) {
    await sql`
      delete from ${sql.table(table)}
       where address_id in (select id from addresses where holding_id = any(${deleted}::bigint[]))`.execute(
      tx,
    );
  }
  for (const table of OF_HOLDING) {
    await sql`
      delete from ${sql.table(table)} where holding_id = any(${deleted}::bigint[])`.execute(tx);
  }
  await sql`delete from holdings where id = any(${deleted}::bigint[])`.execute(tx);
}

/** Hands holdings to the fleet file by organisation and network, with their defaults, which have no name. */
export async function adoptHoldings(tx: Tx, keys: readonly string[]): Promise<void> {
  const places = keys.map((key) => key.split(' ').slice(0, 2).join(' '));
  await sql`
    update holdings set owner = 'fleet'
     where owner = 'portal'
       and (select slug from organisations where id = organisation_id) || ' ' || cidr::text = any(${places}::text[])`.execute(
    tx,
  );
  await sql`
    update default_actions d set owner = 'fleet' from holdings h
     where h.id = d.holding_id and h.cidr = d.target and h.owner = 'fleet'
       and d.owner = 'portal' and d.deleted_at is null`.execute(tx);
}
