import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { webhookFormat } from '@portcullis/core/webhooks/format.ts';
import type { DeliveryRow } from './deliveries.ts';
import { messageId } from './message.ts';
import type { NewSecret, WebhookRow } from './store.ts';

export function webhookView(row: WebhookRow) {
  const { id, name, url, pending, disabledAt, disabledReason } = row;
  return {
    id,
    name,
    url,
    format: webhookFormat(url),
    events: [...row.kinds],
    enabled: disabledAt === null,
    disabled_reason: disabledReason,
    disabled_at: disabledAt && timeView(disabledAt),
    created_at: timeView(row.createdAt),
    previous_secret_until: row.previousUntil && timeView(row.previousUntil),
    pending,
  };
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#symmetric */
export function secretView({ id, secret }: NewSecret) {
  return { id, secret: `whsec_${secret.toString('base64')}` };
}

export function deliveryView(row: DeliveryRow) {
  const isPending = row.state === 'pending';
  return {
    id: row.id,
    message_id: messageId(row.eventId),
    event: row.kind,
    target: canonicalAddress(row.target) ?? row.target,
    state: row.state,
    created_at: timeView(row.createdAt),
    next_attempt_at: isPending ? timeView(row.dueAt) : null,
    attempts: [...row.log],
    can_redeliver: !isPending,
  };
}

export function timeView(moment: Date): string {
  return `${moment.toISOString().slice(0, 19)}+00:00`;
}
