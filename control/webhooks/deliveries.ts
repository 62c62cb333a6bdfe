import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { DeliveryState, LoggedAttempt } from '../db/schema.ts';

export interface DeliveryRow {
  readonly id: number;
  readonly eventId: number;
  readonly kind: string;
  readonly target: string;
  readonly state: DeliveryState;
  readonly createdAt: Date;
  readonly dueAt: Date;
  readonly attempts: number;
  readonly log: readonly LoggedAttempt[];
}

/** Deliveries of a webhook, newest first. */
export async function loadDeliveries(
  db: Db,
  webhookId: number,
  search: {
    readonly state: DeliveryState | null;
    readonly before: number | null;
    readonly limit: number;
  },
): Promise<DeliveryRow[]> {
  const { rows } = await sql<DeliveryRow>`
    select d.id, d.event_id as "eventId", e.kind, e.target, d.state, d.created_at as "createdAt",
           d.due_at as "dueAt", d.attempts, d.log
      from webhook_deliveries d join events e on e.id = d.event_id
     where d.webhook_id = ${webhookId} and (${search.before}::bigint is null or d.id < ${search.before}::bigint)
       and (${search.state}::text is null or d.state = ${search.state}::text)
     order by d.id desc limit ${search.limit}`.execute(db);
  return rows;
}

/** The event of a delivery, which stays until the commit; null if the webhook has no such delivery. */
export async function lockDelivery(
  tx: Tx,
  webhookId: number,
  id: number,
): Promise<{ readonly eventId: number; readonly state: DeliveryState } | null> {
  const { rows } = await sql<{ eventId: number; state: DeliveryState }>`
    select e.id as "eventId", d.state from webhook_deliveries d join events e on e.id = d.event_id
     where d.id = ${id} and d.webhook_id = ${webhookId} for key share of e`.execute(tx);
  return rows[0] ?? null;
}
