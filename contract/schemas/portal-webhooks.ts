import { Type } from 'typebox';
import {
  answer,
  choice,
  CLOSED,
  id,
  integer,
  integerOrNull,
  natural,
  object,
  openChoice,
  sent,
  sentText,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

/** The events of `GET /api/x1/events` that webhooks deliver. */
export const WEBHOOK_EVENTS = [
  'attack.opened',
  'attack.mitigated',
  'attack.ended',
  'attack.looks_usual',
  'server.state',
  'server.crashed',
  'propagation.failed',
] as const;

const name = sentText({ minLength: 1, maxLength: 100 });
const url = sentText({
  minLength: 1,
  maxLength: 2048,
  description:
    'http or https, at a public address, without user name, password or fragment. Redirects are not followed.',
  examples: ['https://hooks.example.net/portcullis'],
});
const events = Type.Array(choice(WEBHOOK_EVENTS), {
  minItems: 1,
  maxItems: WEBHOOK_EVENTS.length,
  uniqueItems: true,
  description: 'The events that it delivers.',
});

const Webhook = object('Webhook', 'Without its secret, which is shown once.', {
  id: id(),
  name: Type.String(),
  url: Type.String(),
  format: openChoice(['standard', 'discord', 'slack'], {
    description: 'How messages are written, by the URL: Standard Webhooks, or for a chat.',
  }),
  events: Type.Array(openChoice([...WEBHOOK_EVENTS, 'webhook.test'])),
  enabled: Type.Boolean(),
  disabled_reason: textOrNull({
    description:
      'Why it is disabled: somebody did so, the receiver answered 410, or a day of retries failed.',
  }),
  disabled_at: timestampOrNull(),
  created_at: timestamp(),
  previous_secret_until: timestampOrNull({
    description: 'Until then deliveries are signed with the secret before the last rotation too.',
  }),
  pending: natural({ description: 'Deliveries that wait or are tried again.' }),
});

export const Webhooks = object('Webhooks', { data: Type.Array(Webhook) });

export const WebhookInput = sent('WebhookInput', { name, url, events });

export const WebhookChange = sent('WebhookChange', {
  name,
  url,
  events,
  enabled: Type.Boolean({
    description: 'False: what waits is given up. True takes back the reason of a disabled one.',
  }),
});

export const WebhookSaved = object('WebhookSaved', { data: Webhook });

export const WebhookSecret = answer('WebhookSecret', {
  id: id(),
  secret: Type.String({
    description:
      'The secret of signatures (https://www.standardwebhooks.com): `whsec_` and base64. It is shown this once.',
  }),
});

const DeliveryAttempt = object('DeliveryAttempt', {
  at: timestamp(),
  duration_ms: natural(),
  response_status: integerOrNull({ description: 'Null: there was no answer.' }),
  error: textOrNull({ description: 'Null: it succeeded.' }),
});

const Delivery = object('Delivery', {
  id: id(),
  message_id: Type.String({
    description: 'The header `webhook-id`: the same for every attempt and every redelivery.',
  }),
  event: openChoice([...WEBHOOK_EVENTS, 'webhook.test']),
  target: Type.String({ description: 'Such as an address or a uuid of a server.' }),
  state: openChoice(['pending', 'delivered', 'failed', 'skipped'], {
    description: '`skipped`: never tried, because too many deliveries waited already.',
  }),
  created_at: timestamp({ description: 'When the event happened, or was delivered again.' }),
  next_attempt_at: timestampOrNull({ description: 'Null: there is none.' }),
  attempts: Type.Array(DeliveryAttempt, { description: 'In order.' }),
  can_redeliver: Type.Boolean({ description: 'False while it is pending.' }),
});

export const Deliveries = object('Deliveries', {
  data: Type.Array(Delivery, { description: 'Newest first, of the last seven days.' }),
  links: Type.Object({ next: textOrNull({ description: 'The older page; null on the last.' }) }),
});

export const DeliveryStarted = answer('DeliveryStarted', {
  id: id({ description: 'Id of the new delivery.' }),
});

export const DeliveryQuery = Type.Object(
  {
    state: Type.Optional(choice(['pending', 'delivered', 'failed', 'skipped'])),
    before: Type.Optional(natural({ description: 'Only deliveries with a lower id.' })),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 100, default: 50 })),
  },
  CLOSED,
);
