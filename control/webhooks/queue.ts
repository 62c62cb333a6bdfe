import { type RawBuilder, sql } from 'kysely';
import { recordAudit } from '../access/index.ts';
import type { Db } from '../db/database.ts';
import type { LoggedAttempt } from '../db/schema.ts';
import type { WebhookEvent } from './message.ts';
import { giveUpPending } from './store.ts';

export interface DueDelivery extends WebhookEvent {
  readonly id: number;
  readonly webhookId: number;
  readonly organisationId: number;
  /** With the one that begins. */
  readonly attempts: number;
  readonly url: string;
  readonly secret: Buffer;
  /** Null: none, or not valid any more. */
  readonly previousSecret: Buffer | null;
  readonly isDisabled: boolean;
}

/** What is not claimed now: a hanging receiver delays only itself, and an organisation only itself. */
export interface Busy {
  readonly webhooks: readonly number[];
  readonly organisations: readonly number[];
}

/** An attempt must have stored its result in this time; after it another process repeats it. */
const LEASE_SECONDS = 30;
/** Of one webhook in one claim. */
const PER_CLAIM = 4;
/** The deliveries that a claim looks at. */
const LOOKED_AT = 500;

/** Claims due deliveries for this process, at most `limit`. Other processes skip them. */
export async function claimDeliveries(db: Db, limit: number, busy: Busy): Promise<DueDelivery[]> {
  const { rows } = await sql<DueDelivery>`
    with due as (
      select id, row_number() over (partition by webhook_id order by due_at, id) as nth
        from (select d.id, d.webhook_id, d.due_at
                from webhook_deliveries d join webhooks w on w.id = d.webhook_id
               where d.state = 'pending' and d.due_at <= now() and ${isFree(busy)}
               order by d.due_at limit ${LOOKED_AT}) oldest
    ), chosen as (
      select id from webhook_deliveries
       where id in (select id from due where nth <= ${PER_CLAIM}) and state = 'pending' and due_at <= now()
       order by due_at limit ${limit} for update skip locked
    )
    update webhook_deliveries d
       set attempts = d.attempts + 1, due_at = now() + ${LEASE_SECONDS} * interval '1 second'
      from chosen, webhooks w, events e, organisations o
     where d.id = chosen.id and w.id = d.webhook_id and e.id = d.event_id and o.id = w.organisation_id
    returning d.id, d.webhook_id as "webhookId", o.id as "organisationId", d.attempts, w.url, w.secret,
              case when w.previous_until > now() then w.previous_secret end as "previousSecret",
              w.disabled_at is not null and e.kind <> 'webhook.test' as "isDisabled",
              e.id as "eventId", e.kind, e.target, e.at, e.data, o.slug as organisation`.execute(
    db,
  );
  return rows;
}

/** Milliseconds until something is due that is not busy; null: nothing waits. */
export async function untilNextDue(db: Db, busy: Busy): Promise<number | null> {
  const { rows } = await sql<{ waitMs: number | null }>`
    select (extract(epoch from min(d.due_at) - clock_timestamp()) * 1000)::float8 as "waitMs"
      from webhook_deliveries d join webhooks w on w.id = d.webhook_id
     where d.state = 'pending' and ${isFree(busy)}`.execute(db);
  return rows[0]?.waitMs ?? null;
}

function isFree({ webhooks, organisations }: Busy): RawBuilder<boolean> {
  return sql`w.id <> all(${webhooks}::bigint[]) and w.organisation_id <> all(${organisations}::bigint[])`;
}

/** Stores an attempt that succeeded, or after which the delivery is tried again. */
export async function saveAttempt(
  db: Db,
  { id, attempts }: DueDelivery,
  attempt: LoggedAttempt,
  retryMs: number | null,
): Promise<void> {
  await sql`
    update webhook_deliveries
       set log = log || ${JSON.stringify([attempt])}::jsonb,
           state = case when ${retryMs}::float8 is null then 'delivered' else 'pending' end,
           settled_at = case when ${retryMs}::float8 is null then now() end,
           due_at = now() + coalesce(${retryMs}::float8, 0) * interval '1 millisecond'
     where ${isOurs(id, attempts)}`.execute(db);
}

/**
 * Stores the last attempt of a delivery, null without one. With a reason the webhook is disabled, unless it delivered
 * something since this delivery began or `isFinal`. Returns whether it was disabled.
 */
export async function saveFailure(
  db: Db,
  { id, attempts, webhookId, organisationId }: DueDelivery,
  attempt: LoggedAttempt | null,
  disable: { readonly reason: string; readonly isFinal: boolean } | null,
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    // Before the delivery, as whoever disables a webhook by hand does.
    await sql`select from webhooks where id = ${webhookId} for no key update`.execute(tx);
    const { rows } = await sql<{ createdAt: Date }>`
      update webhook_deliveries
         set log = log || ${JSON.stringify(attempt === null ? [] : [attempt])}::jsonb, state = 'failed',
             settled_at = now()
       where ${isOurs(id, attempts)} returning created_at as "createdAt"`.execute(tx);
    const [failed] = rows;
    if (failed === undefined || disable === null) return false;
    const { numAffectedRows } = await sql`
      update webhooks set disabled_at = now(), disabled_reason = ${disable.reason}
       where id = ${webhookId} and disabled_at is null
         and (${disable.isFinal}::boolean or not exists (
               select from webhook_deliveries d
                where d.webhook_id = ${webhookId} and d.state = 'delivered'
                  and d.settled_at > ${failed.createdAt}))`.execute(tx);
    if (numAffectedRows !== 1n) return false;
    await giveUpPending(tx, webhookId);
    await recordAudit(tx, {
      actor: { kind: 'system', name: 'webhooks', source: null, requestId: null },
      organisationId,
      action: 'webhook.disable',
      target: `webhook:${webhookId}`,
      detail: { reason: disable.reason },
    });
    return true;
  });
}

/** An attempt that a stop broke off: due at once, and not counted. */
export async function releaseDelivery(db: Db, { id, attempts }: DueDelivery): Promise<void> {
  await sql`
    update webhook_deliveries set due_at = now(), attempts = attempts - 1
     where ${isOurs(id, attempts)}`.execute(db);
}

/** Not when the lease has ended and another process has begun the next attempt. */
function isOurs(id: number, attempts: number): RawBuilder<boolean> {
  return sql`id = ${id} and attempts = ${attempts} and state = 'pending'`;
}
