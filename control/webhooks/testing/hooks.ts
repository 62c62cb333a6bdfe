import { setTimeout as delay } from 'node:timers/promises';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { sql } from 'kysely';
import { Registry } from 'prom-client';
import type { Db } from '../../db/database.ts';
import { listen } from '../../db/listen.ts';
import { createLogger } from '../../log.ts';
import { startDispatcher, type DispatcherOptions } from '../dispatcher.ts';
import { createWebhookEvents } from '../events.ts';

export const LOOPBACK = ['127.0.0.0/8'].flatMap((text) => {
  const network = parseCidr(text);
  return network.ok ? [network.value] : [];
});

/** Two organisations without webhooks. */
export async function seedOrganisations(db: Db): Promise<void> {
  await sql`insert into organisations (slug, name, owner)
    values ('acme', 'Acme', 'portal'), ('other', 'Other', 'portal')`.execute(db);
}

export async function addWebhook(
  db: Db,
  url: string,
  of: { readonly organisationId?: number; readonly kinds?: readonly string[] } = {},
): Promise<{ readonly id: number; readonly secret: string }> {
  const secret = Buffer.alloc(32, url);
  const { id } = await db
    .insertInto('webhooks')
    .values({
      organisation_id: of.organisationId ?? 1,
      name: 'hook',
      url,
      kinds: [...(of.kinds ?? ['attack.opened'])],
      secret,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, secret: `whsec_${secret.toString('base64')}` };
}

/** Makes an event as the areas do it: a row of events. */
export async function happen(db: Db, count = 1, organisationId = 1): Promise<void> {
  const event = {
    organisation_id: organisationId,
    kind: 'attack.opened',
    target: '203.0.113.10',
    data: '{"attack":3}',
  };
  await db
    .insertInto('events')
    .values(Array.from({ length: count }, () => event))
    .execute();
}

/** A control process that delivers, woken by notifications; stopped after the test. */
export function startDeliveries(
  t: { after(stop: () => Promise<void>): void },
  { db, url }: { readonly db: Db; readonly url: string },
  options: Partial<DispatcherOptions> = {},
): { stop(): Promise<void> } {
  const log = createLogger({ level: 'silent' });
  const events = createWebhookEvents(log, new Registry());
  const dispatcher = startDispatcher({ db, events, networks: LOOPBACK, ...options });
  const listener = listen(url, ['portcullis_webhooks'], () => dispatcher.wake());
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= Promise.all([listener.stop(), dispatcher.stop()]).then(() => {});
    return stopped;
  };
  t.after(stop);
  return { stop };
}

/** The deliveries of a webhook, oldest first. */
export async function deliveriesOf(db: Db, webhookId: number) {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .orderBy('id')
    .execute();
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}

/** Waits until none is pending. */
export async function settled(db: Db, webhookId: number) {
  let rows = await deliveriesOf(db, webhookId);
  await until(async () => {
    rows = await deliveriesOf(db, webhookId);
    return rows.length > 0 && rows.every(({ state }) => state !== 'pending');
  });
  return rows;
}
