import { parseWebhookUrl } from '@portcullis/core/webhooks/url.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { keyActor, recordAudit } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import type { CallerCall } from '../http/operations/operation.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { Problem } from '../problem.ts';
import { loadDeliveries, lockDelivery } from './deliveries.ts';
import {
  deleteWebhook,
  insertAgain,
  insertTest,
  insertWebhook,
  isFull,
  loadWebhooks,
  rotateSecret,
  updateWebhook,
  type WebhookRow,
} from './store.ts';
import { deliveryView, secretView, webhookView } from './views.ts';

export type WebhookHandlers = Pick<
  Handlers,
  | 'listWebhooks'
  | 'createWebhook'
  | 'saveWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | DeliveryNames
>;
type DeliveryNames = 'testWebhook' | 'listWebhookDeliveries' | 'redeliver';

const MOST_WEBHOOKS = 10;
const PER_PAGE = 50;
/** Secrets must be in no cache. */
const NO_STORE = { 'cache-control': 'no-store' } as const;

/** Webhooks of an organisation; `allowed` are networks that are reached though not public. */
export function createWebhookHandlers(allowed: readonly Cidr[]): WebhookHandlers {
  return {
    async listWebhooks({ by }, db) {
      const webhooks = await loadWebhooks(db, by.organisationId);
      return { status: 200, body: { data: webhooks.map(webhookView) } };
    },
    async createWebhook(call, tx) {
      const { name, events } = call.body;
      const url = requireUrl(call.body.url, allowed);
      const wanted = { name, url, kinds: events };
      const made = await insertWebhook(tx, call.by.organisationId, wanted, MOST_WEBHOOKS);
      if (made === null) {
        const detail = `An organisation has at most ${MOST_WEBHOOKS} webhooks: delete one first.`;
        throw new Problem('limit_exceeded', detail);
      }
      await record(tx, call, 'webhook.create', made.id, { name, host: new URL(url).host, events });
      return { status: 201, body: { data: secretView(made) }, headers: NO_STORE };
    },
    async saveWebhook(call, tx) {
      const { id } = await requireWebhook(call, tx);
      const { name, events, enabled } = call.body;
      const url = requireUrl(call.body.url, allowed);
      const disabledReason = enabled ? null : 'It was disabled in the portal.';
      await updateWebhook(tx, id, { name, url, kinds: events, disabledReason });
      const detail = { name, host: new URL(url).host, events, enabled };
      await record(tx, call, 'webhook.change', id, detail);
      return { status: 200, body: { data: webhookView(await requireWebhook(call, tx)) } };
    },
    async deleteWebhook(call, tx) {
      const { id, name } = await requireWebhook(call, tx);
      await deleteWebhook(tx, id);
      await record(tx, call, 'webhook.delete', id, { name });
      return { status: 200, body: { data: { done: true } } };
    },
    async rotateWebhookSecret(call, tx) {
      const { id, name } = await requireWebhook(call, tx);
      const made = await rotateSecret(tx, id);
      await record(tx, call, 'webhook.rotate', id, { name });
      return { status: 200, body: { data: secretView(made) }, headers: NO_STORE };
    },
    ...deliveryHandlers(),
  };
}

/** Deliveries of webhooks, and deliveries by hand. */
function deliveryHandlers(): Pick<Handlers, DeliveryNames> {
  return {
    async testWebhook(call, tx) {
      const webhook = await requireWebhook(call, tx);
      await requireCapacity(tx, webhook);
      const id = await insertTest(tx, call.by.organisationId, webhook);
      await record(tx, call, 'webhook.test', webhook.id, { name: webhook.name });
      return { status: 201, body: { data: { id } } };
    },
    async listWebhookDeliveries(call, db) {
      const { id } = await requireWebhook(call, db);
      const { state, before, per_page: perPage = PER_PAGE } = call.query;
      const search = { state: state ?? null, before: before ?? null, limit: perPage + 1 };
      const found = await loadDeliveries(db, id, search);
      const data = found.slice(0, perPage).map(deliveryView);
      const last = found.length > perPage ? data.at(-1) : undefined;
      const query = new URLSearchParams({
        per_page: String(perPage),
        ...(state !== undefined && { state }),
        before: String(last?.id ?? 0),
      });
      const next = last === undefined ? null : `?${query}`;
      return { status: 200, body: { data, links: { next } } };
    },
    async redeliver(call, tx) {
      const webhook = await requireWebhook(call, tx);
      const { delivery: id } = call.params;
      const delivery = await lockDelivery(tx, webhook.id, id);
      if (delivery === null) throw new Problem('not_found', `There is no delivery ${id}.`);
      if (webhook.disabledAt !== null) {
        throw new Problem('invalid_request', 'The webhook is disabled: enable it first.');
      }
      if (delivery.state === 'pending') {
        throw new Problem('invalid_request', 'The delivery is pending: it is still tried.');
      }
      await requireCapacity(tx, webhook);
      const made = await insertAgain(tx, webhook.id, delivery.eventId);
      await record(tx, call, 'webhook.redeliver', webhook.id, { name: webhook.name, delivery: id });
      return { status: 201, body: { data: { id: made } } };
    },
  };
}

function requireUrl(text: string, allowed: readonly Cidr[]): string {
  const url = parseWebhookUrl(text, allowed);
  if (url.ok) return url.value.href;
  throw new Problem('invalid_request', `The URL ${url.reason}.`, {
    errors: [{ pointer: '/url', detail: url.reason }],
  });
}

async function requireWebhook(
  call: CallerCall<{ readonly webhook: number }>,
  db: Db | Tx,
): Promise<WebhookRow> {
  const { webhook: id } = call.params;
  const [webhook] = await loadWebhooks(db, call.by.organisationId, id);
  if (webhook === undefined) throw new Problem('not_found', `There is no webhook ${id}.`);
  return webhook;
}

async function requireCapacity(tx: Tx, { id }: WebhookRow): Promise<void> {
  if (!(await isFull(tx, id))) return;
  const detail = 'Too many deliveries of this webhook are pending: wait, or disable it.';
  throw new Problem('limit_exceeded', detail);
}

/** Records a URL without the path of the URL, which may be a secret of the receiver. */
async function record(
  tx: Tx,
  call: CallerCall,
  action: string,
  id: number,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { organisationId } = call.by;
  await recordAudit(tx, {
    actor: keyActor(call),
    organisationId,
    action,
    target: `webhook:${id}`,
    detail,
  });
}
