import type { PortalEndpoint } from '../endpoint.ts';
import { Done } from '../schemas/portal-account.ts';
import {
  Deliveries,
  DeliveryQuery,
  DeliveryStarted,
  WebhookChange,
  WebhookInput,
  Webhooks,
  WebhookSaved,
  WebhookSecret,
} from '../schemas/portal-webhooks.ts';
import {
  deleteAnswers,
  idParam,
  ORGANISATION,
  readAnswers,
  writeAnswers,
} from './portal-shared.ts';

const BASE = '/organisations/{organisation}/webhooks';
const ONE = `${BASE}/{webhook}`;
const WEBHOOK = { ...ORGANISATION, webhook: idParam('Id of a webhook.') };
const DELIVERY = { ...WEBHOOK, delivery: idParam('Id of a delivery.') };
const common = { tag: 'Organisation', role: 'admin' } as const;
const read = { ...common, method: 'GET', write: false, requestHeaders: ['If-None-Match'] } as const;
const write = { ...common, write: true } as const;

/** Webhooks of an organisation: Standard Webhooks, https://www.standardwebhooks.com. */
export const PORTAL_WEBHOOK_ENDPOINTS = [
  {
    ...read,
    operationId: 'listWebhooks',
    path: BASE,
    params: ORGANISATION,
    summary: 'List webhooks',
    description: 'Also disabled ones, with the reason.',
    responses: readAnswers('The webhooks.', Webhooks),
  },
  {
    ...write,
    operationId: 'createWebhook',
    method: 'POST',
    path: BASE,
    params: ORGANISATION,
    summary: 'Create a webhook',
    description: 'The answer has the secret of its signatures, this once.',
    body: WebhookInput,
    bodyExamples: {
      attacks: {
        name: 'pager',
        url: 'https://hooks.example.net/portcullis',
        events: ['attack.opened', 'attack.ended'],
      },
    },
    responses: writeAnswers(201, 'Created.', WebhookSecret, ['limit_exceeded']),
  },
  {
    ...write,
    operationId: 'saveWebhook',
    method: 'PUT',
    path: ONE,
    params: WEBHOOK,
    summary: 'Change a webhook',
    description: 'Its name, URL and events, and whether it is enabled.',
    body: WebhookChange,
    responses: writeAnswers(200, 'Saved.', WebhookSaved),
  },
  {
    ...write,
    operationId: 'deleteWebhook',
    method: 'DELETE',
    path: ONE,
    params: WEBHOOK,
    summary: 'Delete a webhook',
    description: 'With its deliveries.',
    responses: deleteAnswers('Deleted.', Done),
  },
  {
    ...write,
    operationId: 'rotateWebhookSecret',
    method: 'POST',
    path: `${ONE}/secret`,
    params: WEBHOOK,
    summary: 'Make a new secret',
    description:
      'For 24 hours deliveries are signed with the new and with the previous secret, so that a receiver can change over.',
    responses: deleteAnswers('The new secret.', WebhookSecret),
  },
  {
    ...write,
    operationId: 'testWebhook',
    method: 'POST',
    path: `${ONE}/test`,
    params: WEBHOOK,
    summary: 'Send a test',
    description:
      'Delivers an event `webhook.test`, with one attempt, also by a disabled webhook. Its result is in the deliveries.',
    responses: deleteAnswers('It will be sent.', DeliveryStarted, ['limit_exceeded'], 201),
  },
  {
    ...read,
    operationId: 'listWebhookDeliveries',
    path: `${ONE}/deliveries`,
    params: WEBHOOK,
    query: DeliveryQuery,
    summary: 'List deliveries',
    description: 'What was sent or waits, with every attempt.',
    responses: readAnswers('The deliveries.', Deliveries),
  },
  {
    ...write,
    operationId: 'redeliver',
    method: 'POST',
    path: `${ONE}/deliveries/{delivery}/redeliver`,
    params: DELIVERY,
    summary: 'Deliver again',
    description:
      'Makes a new delivery of the event with the same `webhook-id`. The webhook must be enabled and the delivery not pending.',
    responses: deleteAnswers('It will be sent.', DeliveryStarted, ['limit_exceeded'], 201),
  },
] as const satisfies readonly PortalEndpoint[];
