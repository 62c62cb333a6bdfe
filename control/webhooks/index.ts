import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { installationAddresses } from '@portcullis/link/public-http/own-addresses.ts';
import { resolveName } from '@portcullis/link/public-http/resolve.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../db/database.ts';
import type { Outbox } from '../outbox/index.ts';
import { startDispatcher } from './dispatcher.ts';
import { createWebhookEvents } from './events.ts';
import { fetchPublicText } from './fetch-text.ts';
import { createWebhookHandlers, type WebhookHandlers } from './handlers.ts';
import { loadCollectorListeners } from './store.ts';

export interface WebhookDeps {
  readonly db: Db;
  /** Networks that webhooks may reach though they are not public. */
  readonly networks: readonly Cidr[];
  /** Hosts of this installation, names or addresses, which webhooks do not reach; this host's own are added. */
  readonly ownHosts?: readonly string[];
  readonly registry: Registry;
  readonly log: Logger;
}

/** Webhooks of organisations: Standard Webhooks, https://www.standardwebhooks.com. */
export interface Webhooks {
  readonly handlers: WebhookHandlers;
  /** Starts to deliver once the database is available. */
  startDeliveries(): Outbox;
  /** Fetches a text that an operator named, from where webhooks may go too. */
  readonly fetchText: FetchText;
}

/** A failure is a sentence. */
export type FetchText = (url: string, maxBytes: number) => Promise<Parsed<string>>;

const FETCH_MS = 10_000;

export function createWebhooks(deps: WebhookDeps): Webhooks {
  const { db, networks, ownHosts = [], registry, log } = deps;
  const events = createWebhookEvents(log, registry);
  const hosts = async (): Promise<string[]> => {
    const listeners = await loadCollectorListeners(db);
    return [...ownHosts, ...listeners.map((listen) => listen.replace(/:\d+$/, ''))];
  };
  const own = installationAddresses({ hosts, resolve: resolveName });
  return {
    handlers: createWebhookHandlers(networks),
    startDeliveries: () => startDispatcher({ db, events, networks, own }),
    fetchText: (url, maxBytes) =>
      fetchPublicText(url, { networks, own, maxBytes, timeoutMs: FETCH_MS }),
  };
}
