import { type RawBuilder, sql } from 'kysely';
import { recordAudit } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import type { LoggedAttempt } from '../db/schema.ts';
import { type Attempt, claimAttempts, storeResult } from '../outbox/index.ts';
import type { WebhookEvent } from './message.ts';
import { giveUpPending } from './store.ts';

export const DELIVERIES = 'webhook_deliveries';

export interface DueDelivery extends WebhookEvent, Attempt {
  readonly webhookId: number;
  readonly organisationId: number;
  readonly url: string;
  readonly secret: Buffer;
  /** Null: none, or not valid any more. */
  readonly previousSecret: Buffer | null;
  readonly isDisabled: boolean;
}

const LEASE_SECONDS = 30;
/** The deliveries that a claim looks at. */
const LOOKED_AT = 500;
/**
 * The most concurrent attempts over all replicas, by webhook and by organisation: a hanging receiver delays only itself,
 * and an organisation only itself.
 */
const PER_WEBHOOK = 4;
const PER_ORGANISATION = 12;

/** Claims due deliveries, at most `room`. */
export async function claimDeliveries(db: Db, room: number): Promise<DueDelivery[]> {
  return claimAttempts<DueDelivery>(db, DELIVERIES, {
    chosen: chooseDeliveries(room),
    columns: sql`
      c.webhook_id as "webhookId", o.id as "organisationId", w.url, w.secret,
      case when w.previous_until > now() then w.previous_secret end as "previousSecret",
      w.disabled_at is not null and e.kind <> 'webhook.test' as "isDisabled",
      e.id as "eventId", e.kind, e.target, e.at, e.data, o.slug as organisation`,
    joins: sql`
      join webhooks w on w.id = c.webhook_id
      join events e on e.id = c.event_id
      join organisations o on o.id = w.organisation_id`,
  });
}

function chooseDeliveries(room: number): RawBuilder<unknown> {
  return sql`
    running as (
      select d.webhook_id, w.organisation_id
        from webhook_deliveries d join webhooks w on w.id = d.webhook_id
       where d.state = 'pending' and d.claimed_until > now()
    ), webhook_load as (
      select webhook_id, count(*) as attempts from running group by 1
    ), organisation_load as (
      select organisation_id, count(*) as attempts from running group by 1
    ), oldest as (
      select d.id, d.webhook_id, d.due_at, w.organisation_id,
             coalesce(wl.attempts, 0) as of_webhook, coalesce(ol.attempts, 0) as of_organisation
        from webhook_deliveries d
        join webhooks w on w.id = d.webhook_id
        left join webhook_load wl on wl.webhook_id = w.id
        left join organisation_load ol on ol.organisation_id = w.organisation_id
       where d.state = 'pending' and d.due_at <= now()
         and coalesce(wl.attempts, 0) < ${PER_WEBHOOK} and coalesce(ol.attempts, 0) < ${PER_ORGANISATION}
       order by d.due_at limit ${LOOKED_AT}
    ), turns as (
      select id, due_at,
             of_webhook + row_number() over (partition by webhook_id order by due_at, id) as of_webhook,
             of_organisation + row_number() over (partition by organisation_id order by due_at, id) as of_organisation
        from oldest
    ), chosen as (
      select id, ${LEASE_SECONDS}::integer as lease_seconds from webhook_deliveries
       where id in (select id from turns
                     where of_webhook <= ${PER_WEBHOOK} and of_organisation <= ${PER_ORGANISATION}
                     order by due_at limit ${room})
         and state = 'pending' and due_at <= now()
         for update skip locked
    )`;
}

/**
 * Stores an attempt that succeeded, or after which the delivery is tried again. Returns false if it was superseded.
 */
export async function saveAttempt(
  db: Db,
  due: DueDelivery,
  attempt: LoggedAttempt,
  retryMs: number | null,
): Promise<boolean> {
  const state = retryMs === null ? 'delivered' : 'pending';
  const set = sql`log = log || ${JSON.stringify([attempt])}::jsonb, state = ${state}`;
  return storeResult(db, DELIVERIES, due, { set, retryMs });
}

/**
 * Stores the last attempt of a delivery, null without one. With a reason the webhook is disabled, unless it delivered
 * something since this delivery began or `isFinal`.
 */
export async function saveFailure(
  db: Db,
  due: DueDelivery,
  attempt: LoggedAttempt | null,
  disable: { readonly reason: string; readonly isFinal: boolean } | null,
): Promise<{ readonly isStored: boolean; readonly isDisabled: boolean }> {
  return db.transaction().execute(async (tx) => {
    // Before the delivery, in the order of a transaction that disables a webhook by hand.
    await sql`select from webhooks where id = ${due.webhookId} for no key update`.execute(tx);
    const log = JSON.stringify(attempt === null ? [] : [attempt]);
    const set = sql`log = log || ${log}::jsonb, state = 'failed'`;
    const isStored = await storeResult(tx, DELIVERIES, due, { set, retryMs: null });
    const isDisabled = isStored && disable !== null && (await disableWebhook(tx, due, disable));
    return { isStored, isDisabled };
  });
}

async function disableWebhook(
  tx: Tx,
  { id, webhookId, organisationId }: DueDelivery,
  { reason, isFinal }: { readonly reason: string; readonly isFinal: boolean },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update webhooks set disabled_at = now(), disabled_reason = ${reason}
     where id = ${webhookId} and disabled_at is null
       and (${isFinal}::boolean or not exists (
             select from webhook_deliveries d, webhook_deliveries failed
              where failed.id = ${id} and d.webhook_id = ${webhookId} and d.state = 'delivered'
                and d.settled_at > failed.created_at))`.execute(tx);
  if (numAffectedRows !== 1n) return false;
  await giveUpPending(tx, webhookId);
  await recordAudit(tx, {
    actor: { kind: 'system', name: 'webhooks', source: null, requestId: null },
    organisationId,
    action: 'webhook.disable',
    target: `webhook:${webhookId}`,
    detail: { reason },
  });
  return true;
}
