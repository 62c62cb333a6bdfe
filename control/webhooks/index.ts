import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../db/database.ts';
import { type Dispatcher, startDispatcher } from './dispatcher.ts';
import { createWebhookEvents } from './events.ts';
import { createWebhookHandlers, type WebhookHandlers } from './handlers.ts';

export type { Dispatcher } from './dispatcher.ts';

export interface WebhookDeps {
  readonly db: Db;
  /** Networks that webhooks may reach though they are not public. */
  readonly networks: readonly Cidr[];
  readonly registry: Registry;
  readonly log: Logger;
}

/** Webhooks of organisations: Standard Webhooks, https://www.standardwebhooks.com. */
export interface Webhooks {
  readonly handlers: WebhookHandlers;
  /** Starts to deliver once the database is available. */
  startDeliveries(): Dispatcher;
}

export function createWebhooks({ db, networks, registry, log }: WebhookDeps): Webhooks {
  const events = createWebhookEvents(log, registry);
  return {
    handlers: createWebhookHandlers(networks),
    startDeliveries: () => startDispatcher({ db, events, networks }),
  };
}
