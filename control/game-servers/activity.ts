import { sql } from 'kysely';
import { type Actor, keyActor } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import type { ActorKind } from '../db/schema.ts';
import type { CallerCall } from '../http/operations/operation.ts';
import type { ServerCall } from './require-server.ts';

/** The newest entries of a server that are kept. */
const KEPT = 5_000;
const KEPT_DAYS = 90;
/** Old entries that one new entry removes: far more than come, and bounded, because a caller waits for it. */
const FORGOTTEN = 200;

/** The ways by which something is done with a server. */
type Door = 'api' | 'portal' | 'sftp' | 'node';

interface ActivityEntry {
  readonly id: number;
  readonly at: Date;
  readonly actor_kind: ActorKind;
  readonly actor: string;
  readonly door: Door;
  readonly source: string | null;
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly times: number;
}

/**
 * Records what a caller did with a server, in the transaction that did it; what its node does is recorded when the node has
 * answered (`recordAttempt`). The same by the same within a minute is one entry, and a server keeps its newest ones only, so
 * that doing things often fills no disk.
 */
export async function recordActivity(
  tx: Reader | Tx,
  call: Pick<ServerCall, 'by' | 'params'> & Pick<CallerCall, 'source' | 'requestId'>,
  action: string,
  detail: Readonly<Record<string, unknown>>,
  more: Pick<Done, 'of'> = {},
): Promise<void> {
  const door: Door = call.by.kind === 'key' ? 'api' : 'portal';
  await recordDone(tx, call.params.slice, { ...keyActor(call), door }, { action, detail, ...more });
}

/** The actor of an entry, and how and from where it came. */
interface Doer extends Pick<Actor, 'kind' | 'name' | 'source'> {
  readonly door: Door;
}

/** An action that was done with a server. */
interface Done {
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** How often; once by default. */
  readonly times?: number;
  /** The organisation that the server had when it was done; default: the one that it has now. */
  readonly of?: number;
}

/** Records what was done with a server by an actor who is no caller of an operation. */
export async function recordDone(
  tx: Reader | Tx,
  server: string,
  { kind, name, source, door }: Doer,
  { action, detail, times = 1, of }: Done,
): Promise<void> {
  const text = JSON.stringify(fitting(detail));
  const { rows: repeated } = await sql`
    update server_activity set times = least(times::bigint + ${times}, 2147483647)::integer, at = now()
     where id = (select max(id) from server_activity where server = ${server})
       and actor_kind = ${kind} and actor = ${name} and door = ${door} and action = ${action}
       and source is not distinct from ${source}::inet and detail = ${text}::jsonb
       and at > now() - interval '1 minute'
    returning 1`.execute(tx);
  if (repeated.length > 0) return;
  // A server that is deleted meanwhile has no activity, and the next organisation's is none of what was done before.
  await sql`
    insert into server_activity (server, actor_kind, actor, door, source, action, detail, times)
    select uuid, ${kind}, ${name}, ${door}, ${source}::inet, ${action}, ${text}::jsonb, ${times}
      from game_servers where uuid = ${server} and organisation_id = coalesce(${of ?? null}::bigint, organisation_id)
       for key share`.execute(tx);
  await forgetOld(tx, server);
}

/** The characters of a text that are kept where an entry is too large, the most that fit, and the items of a list. */
const KEPT_CHARACTERS = [200, 100, 50, 25];
const KEPT_ITEMS = 3;
/** Bytes of JSON that the table, which bounds its own form of it at 4,096, takes in any case. */
const FITTING_BYTES = 3_000;

/** The detail of an entry, cut where it is long: the audit trail has all of it. */
function fitting(detail: Readonly<Record<string, unknown>>): unknown {
  const forms = [detail, ...KEPT_CHARACTERS.map((characters) => cut(detail, characters))];
  return forms.find((form) => Buffer.byteLength(JSON.stringify(form)) <= FITTING_BYTES) ?? {};
}

function cut(value: unknown, characters: number): unknown {
  if (typeof value === 'string') return value.slice(0, characters).toWellFormed();
  if (Array.isArray(value)) return value.slice(0, KEPT_ITEMS).map((item) => cut(item, characters));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, cut(item, characters)]),
  );
}

/**
 * Removes what is past the number and the days. With every entry, because what happens now and then, at a known number, one
 * who writes to two servers can keep from happening to one of them. Entries that another transaction removes are left to it.
 */
async function forgetOld(tx: Reader | Tx, server: string): Promise<void> {
  await sql`
    delete from server_activity where id in (
      select id from server_activity
       where server = ${server}
         and id <= (select id from server_activity where server = ${server}
                     order by id desc offset ${KEPT} limit 1)
       limit ${FORGOTTEN} for update skip locked)`.execute(tx);
  await sql`
    delete from server_activity where id in (
      select id from server_activity where at < now() - make_interval(days => ${KEPT_DAYS})
       limit ${FORGOTTEN} for update skip locked)`.execute(tx);
}

/** Entries of a server, newest first; `next` continues below the last one, and is null at the end. */
export async function loadActivity(
  db: Reader,
  server: string,
  { before = null, limit = 50 }: { readonly before?: number | null; readonly limit?: number },
): Promise<{ readonly data: readonly object[]; readonly meta: { readonly next: number | null } }> {
  const { rows } = await sql<ActivityEntry>`
    select id, at, actor_kind, actor, door, host(source) as source, action, detail, times
      from server_activity
     where server = ${server} and at > now() - make_interval(days => ${KEPT_DAYS})
       and (${before}::bigint is null or id < ${before}::bigint)
     order by id desc limit ${limit + 1}`.execute(db);
  const data = rows.slice(0, limit).map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() }));
  return { data, meta: { next: rows.length > limit ? (data.at(-1)?.id ?? null) : null } };
}
