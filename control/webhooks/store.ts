import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import { lockRows } from '../db/locks.ts';

export interface WebhookRow {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly kinds: readonly string[];
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly createdAt: Date;
  readonly previousUntil: Date | null;
  readonly pending: number;
}

const SECRET_BYTES = 32;
const PREVIOUS_HOURS = 24;
/** Every process that delivers listens here. */
const CHANNEL = 'portcullis_webhooks';

/** The webhooks of an organisation; one of them with an id. */
export async function loadWebhooks(
  db: Db | Tx,
  organisationId: number,
  id: number | null = null,
): Promise<WebhookRow[]> {
  const { rows } = await sql<WebhookRow>`
    select id, name, url, kinds, disabled_at as "disabledAt", disabled_reason as "disabledReason",
           created_at as "createdAt",
           case when previous_until > now() then previous_until end as "previousUntil",
           (select count(*) from webhook_deliveries d
             where d.webhook_id = w.id and d.state = 'pending') as pending
      from webhooks w
     where organisation_id = ${organisationId} and (${id}::bigint is null or id = ${id}::bigint)
     order by name, id`.execute(db);
  return rows;
}

export interface WantedWebhook {
  readonly name: string;
  readonly url: string;
  readonly kinds: readonly string[];
}

export interface NewSecret {
  readonly id: number;
  readonly secret: Buffer;
}

/** Null: the organisation has `limit` webhooks already. */
export async function insertWebhook(
  tx: Tx,
  organisationId: number,
  { name, url, kinds }: WantedWebhook,
  limit: number,
): Promise<NewSecret | null> {
  // Counts one after the other; rows that refer to the organisation do not wait.
  await lockRows(tx, 'organisations', [organisationId], 'no key update');
  const secret = randomBytes(SECRET_BYTES);
  const { rows } = await sql<{ id: number }>`
    insert into webhooks (organisation_id, name, url, kinds, secret)
    select ${organisationId}, ${name}, ${url}, ${kinds}::text[], ${secret}
     where (select count(*) from webhooks where organisation_id = ${organisationId}) < ${limit}
    returning id`.execute(tx);
  const [row] = rows;
  return row === undefined ? null : { id: row.id, secret };
}

/** Changes a webhook that the caller has loaded. */
export async function updateWebhook(
  tx: Tx,
  id: number,
  { name, url, kinds, disabledReason }: WantedWebhook & { readonly disabledReason: string | null },
): Promise<void> {
  await sql`
    update webhooks
       set name = ${name}, url = ${url}, kinds = ${kinds}::text[],
           disabled_at = case when ${disabledReason}::text is not null then coalesce(disabled_at, now()) end,
           disabled_reason = case when ${disabledReason}::text is not null
                                  then coalesce(disabled_reason, ${disabledReason}::text) end
     where id = ${id}`.execute(tx);
  if (disabledReason !== null) await giveUpPending(tx, id);
}

/** Gives up deliveries that wait: nothing is sent by a webhook that is disabled; it can be delivered again by hand. */
export async function giveUpPending(tx: Tx, webhookId: number): Promise<void> {
  await sql`
    update webhook_deliveries set state = 'failed', settled_at = now()
     where webhook_id = ${webhookId} and state = 'pending'`.execute(tx);
}

export async function deleteWebhook(tx: Tx, id: number): Promise<void> {
  await sql`delete from webhooks where id = ${id}`.execute(tx);
}

/** Makes a new secret; the previous one signs too for a day. */
export async function rotateSecret(tx: Tx, id: number): Promise<NewSecret> {
  const secret = randomBytes(SECRET_BYTES);
  await sql`
    update webhooks
       set previous_secret = secret, previous_until = now() + ${PREVIOUS_HOURS} * interval '1 hour',
           secret = ${secret}
     where id = ${id}`.execute(tx);
  return { id, secret };
}

export async function isFull(tx: Tx, webhookId: number): Promise<boolean> {
  const { rows } = await sql<{ full: boolean }>`
    select webhook_is_full(${webhookId}) as full`.execute(tx);
  return rows[0]?.full ?? true;
}

/** The test is an event that no webhook subscribes to; returns the id of its delivery. */
export async function insertTest(
  tx: Tx,
  organisationId: number,
  { id, name }: Pick<WebhookRow, 'id' | 'name'>,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    with tested as (
      insert into events (organisation_id, kind, target, data)
      values (${organisationId}, 'webhook.test', ${`webhook:${id}`}, ${JSON.stringify({ name })}) returning id
    )
    insert into webhook_deliveries (webhook_id, event_id) select ${id}, id from tested
    returning id, pg_notify(${CHANNEL}, '')`.execute(tx);
  return idOf(rows);
}

/** A new delivery of the event of another one; returns its id. */
export async function insertAgain(tx: Tx, webhookId: number, eventId: number): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into webhook_deliveries (webhook_id, event_id) values (${webhookId}, ${eventId})
    returning id, pg_notify(${CHANNEL}, '')`.execute(tx);
  return idOf(rows);
}

function idOf([row]: readonly { readonly id: number }[]): number {
  if (row === undefined) throw new Error('an insert returned no row');
  return row.id;
}

/** Where collectors listen, as `ADDRESS:PORT`. */
export async function loadCollectorListeners(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('collectors').select('listen').execute();
  return rows.map(({ listen }) => listen);
}
