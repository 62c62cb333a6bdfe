import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { createWebhookHandlers, type WebhookHandlers } from './handlers.ts';

export interface WebhookDeps {
  /** Networks that webhooks may reach though they are not public. */
  readonly networks: readonly Cidr[];
}

/** Webhooks of organisations. */
export function createWebhooks({ networks }: WebhookDeps): { readonly handlers: WebhookHandlers } {
  return { handlers: createWebhookHandlers(networks) };
}
