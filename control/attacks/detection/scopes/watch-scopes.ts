import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { type CancelledAttack, MAX_CANCELLED } from '@portcullis/link/messages/attacks.ts';
import type { Db, Tx } from '../../../db/database.ts';
import { MERGE_MS } from '../record/plan.ts';
import { type HeldRow, HeldScopes } from './held-scopes.ts';

/** More changes than this are not cheaper than loading everything. */
const MAX_CHANGES = 10_000;
/** Changes are kept for longer, so that none was deleted unread. */
const MAX_AGE_MINUTES = 10;

/** A time of the database, as PostgreSQL writes it: a Date would cut its microseconds. */
type Moment = string;

interface Loaded {
  /** Changes of this transaction and later ones may be unread. */
  readonly mark: string;
  /** Holdings are those of this time. */
  readonly asOf: Moment;
  /** When the next holding begins or ends. */
  readonly dueAt: Moment | null;
}

/**
 * Every present holding with its resolved settings, kept up to date by reading what changed: holdings and settings, and
 * holdings that begin or end with time.
 */
export class WatchScopes {
  #held = new HeldScopes();
  #cancelled: readonly CancelledAttack[] = [];
  #loaded: Loaded | null = null;
  #version = '';

  /** Changes exactly when the content changes. */
  get version(): string {
    return this.#version;
  }

  /** Sorted by scope. */
  get scopes(): readonly WatchScope[] {
    return this.#held.all;
  }

  /** Sorted by subject. */
  get cancelled(): readonly CancelledAttack[] {
    return this.#cancelled;
  }

  /** The settings of an address or prefix, by the longest containing holding. Null without a holding. */
  of(subject: string): WatchScope | null {
    return this.#held.of(subject);
  }

  /** Returns whether the version is another one. */
  async load(db: Db | Tx): Promise<boolean> {
    const news = await loadNews(db, this.#loaded);
    // A change between two statements is read again the next time, because the mark is older than both.
    if (news.isWhole) await this.#loadAll(db, news);
    else if (news.isDue || news.changes.length > 0) await this.#loadChanged(db, news);
    else if (this.#loaded !== null)
      this.#loaded = { ...this.#loaded, mark: news.mark, asOf: news.now };
    this.#cancelled = await cancelledAttacks(db);
    const content = `${this.#held.digest} ${JSON.stringify(this.#cancelled)}`;
    const version = createHash('sha256').update(content).digest('hex').slice(0, 32);
    if (version === this.#version) return false;
    this.#version = version;
    return true;
  }

  async #loadAll(db: Db | Tx, { now, mark }: News): Promise<void> {
    const { rows } = await held(now, sql`true`).execute(db);
    const dueAt = await loadDue(db, now);
    this.#held = new HeldScopes();
    this.#held.apply([], rows);
    this.#loaded = { mark, asOf: now, dueAt };
  }

  async #loadChanged(db: Db | Tx, { now, mark, isDue, changes }: News): Promise<void> {
    const moved = isDue ? await loadMoved(db, this.#loaded?.asOf ?? now, now) : [];
    const parts = [...changes.flatMap(({ cidr }) => cidr ?? []), ...moved];
    const changed = [...new Set([...parts, ...(await loadAccepted(db, parts))])];
    const services = changes.flatMap(({ serviceId }) => serviceId ?? []);
    const organisations = changes.flatMap(({ organisationId }) => organisationId ?? []);
    // Arrays, so that each part is an index look-up.
    const { rows } = await held(
      now,
      sql`h.id = any (array(
        select a.id from unnest(${changed}::cidr[]) as part join holdings a on a.cidr <<= part
        union select a.id from holdings a where a.service_id = any (${services}::integer[])
        union select a.id from holdings a where a.organisation_id = any (${organisations}::bigint[])
        union select t.holding_id from accepted_traffic t where t.target = any (${changed}::cidr[])))`,
    ).execute(db);
    const dueAt = await loadDue(db, now);
    this.#held.apply(changed, rows);
    this.#loaded = { mark, asOf: now, dueAt };
  }
}

interface News {
  readonly now: Moment;
  readonly mark: string;
  /** A holding began or ended. */
  readonly isDue: boolean;
  /** Whether the change is not known, or is too much. */
  readonly isWhole: boolean;
  readonly changes: readonly {
    readonly cidr: string | null;
    readonly serviceId: number | null;
    readonly organisationId: number | null;
  }[];
}

/** Reads no holding. */
async function loadNews(db: Db | Tx, loaded: Loaded | null): Promise<News> {
  const { mark = null, asOf = null, dueAt = null } = loaded ?? {};
  const { rows } = await sql<News & { isUnknown: boolean }>`
    select statement_timestamp()::text as now, pg_snapshot_xmin(pg_current_snapshot())::text as mark,
           coalesce(statement_timestamp() >= ${dueAt}::timestamptz, false) as "isDue",
           -- Times and transactions go back when another database takes the place of this one.
           coalesce(statement_timestamp() not between ${asOf}::timestamptz
                and ${asOf}::timestamptz + ${MAX_AGE_MINUTES} * interval '1 minute'
                or pg_snapshot_xmin(pg_current_snapshot()) < ${mark}::xid8, true) as "isUnknown",
           coalesce((select json_agg(c) from (
             select distinct cidr, service_id as "serviceId", organisation_id as "organisationId"
               from detection_changes where transaction >= ${mark}::xid8 limit ${MAX_CHANGES + 1}) c), '[]') as changes`.execute(
    db,
  );
  const [news] = rows;
  if (news === undefined) throw new Error('a statement without a table gave no row');
  return { ...news, isWhole: news.isUnknown || news.changes.length > MAX_CHANGES };
}

/** Attacks that began or ended after `since`, up to `now`. */
async function loadMoved(db: Db | Tx, since: Moment, now: Moment): Promise<string[]> {
  const { rows } = await sql<{ cidr: string }>`
    select cidr from holdings
     where lower(during) > ${since}::timestamptz and lower(during) <= ${now}::timestamptz
    union select cidr from holdings
     where upper(during) > ${since}::timestamptz and upper(during) <= ${now}::timestamptz`.execute(
    db,
  );
  return rows.map(({ cidr }) => cidr);
}

/** Targets of accepted traffic inside holdings that changed, or ended. */
async function loadAccepted(db: Db | Tx, changed: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ target: string }>`
    select t.target from accepted_traffic t join holdings h on h.id = t.holding_id
     where h.cidr = any (${changed}::cidr[])`.execute(db);
  return rows.map(({ target }) => target);
}

async function loadDue(db: Db | Tx, now: Moment): Promise<Moment | null> {
  const { rows } = await sql<{ at: Moment | null }>`
    select least((select min(lower(during)) from holdings where lower(during) > ${now}::timestamptz),
                 (select min(upper(during)) from holdings where upper(during) > ${now}::timestamptz))::text as at`.execute(
    db,
  );
  return rows[0]?.at ?? null;
}

/** The settings of addresses and prefixes, by the longest containing holding. Null without a holding. */
export async function scopesOf(
  db: Db | Tx,
  subjects: readonly string[],
): Promise<Pick<HeldScopes, 'of'>> {
  const { rows } = await held(
    sql`statement_timestamp()`,
    sql`h.id in (
    select a.id from unnest(${subjects}::cidr[]) as s join holdings a on a.cidr >>= s)`,
  ).execute(db);
  const scopes = new HeldScopes();
  scopes.apply([], rows);
  return scopes;
}

/** Holdings, and targets inside them whose traffic was accepted as usual, with what is set for them. */
function held(at: Moment | RawBuilder<unknown>, which: RawBuilder<unknown>): RawBuilder<HeldRow> {
  return sql<HeldRow>`
    select h.cidr, h.organisation_id as "organisationId", h.detection || coalesce(t.detection, '{}') as own,
           s.detection as service, o.detection as organisation
      from holdings h
      join organisations o on o.id = h.organisation_id
      left join services s on s.id = h.service_id
      left join accepted_traffic t on t.holding_id = h.id and t.target = h.cidr
     where h.during @> ${at}::timestamptz and ${which}
    union all
    select t.target, h.organisation_id, t.detection, s.detection, o.detection
      from accepted_traffic t
      join holdings h on h.id = t.holding_id and t.target <> h.cidr
      join organisations o on o.id = h.organisation_id
      left join services s on s.id = h.service_id
     where h.during @> ${at}::timestamptz and ${which}
       -- a longer holding has it now
       and not exists (select from holdings n where n.cidr >>= t.target and n.cidr << h.cidr
                          and n.during @> ${at}::timestamptz)`;
}

/**
 * Cancelled attacks that are ongoing or could continue: edges must know them before an outage of control. Sorted by
 * subject.
 */
export async function cancelledAttacks(db: Db | Tx): Promise<CancelledAttack[]> {
  const { rows } = await sql<CancelledAttack>`
    select o.subject::text as subject,
           round(extract(epoch from o.started_at) * 1000)::float8 as "startedAtMs"
      from attack_responses r join ongoing_attacks o on o.attack_id = r.attack_id
     where r.cancelled_at is not null
       and (o.ended_at is null or o.ended_at >= now() - ${MERGE_MS} * interval '1 millisecond')
     order by r.cancelled_at desc, r.attack_id desc limit ${MAX_CANCELLED}`.execute(db);
  return rows
    .flatMap(({ subject, startedAtMs }) => {
      const network = parseCidr(subject);
      return network.ok ? [{ subject: formatNetwork(network.value), startedAtMs }] : [];
    })
    .toSorted((a, b) => (a.subject < b.subject ? -1 : 1));
}
