import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/** Each function writes its log line and its metric together. */
export interface WebhookEvents {
  attempted(of: {
    readonly webhookId: number;
    readonly kind: string;
    readonly attempts: number;
    /** Superseded: its lease had ended, another process had begun the next attempt, and nothing was stored. */
    readonly result: 'delivered' | 'retried' | 'failed' | 'superseded';
    readonly error: string | null;
    /** Why there was no answer, which only the operator may read. */
    readonly detail: string | null;
  }): void;
  disabled(webhookId: number, reason: string): void;
  failed(what: string, error: unknown): void;
}

export function createWebhookEvents(log: Logger, registry: Registry): WebhookEvents {
  const attempts = new Counter({
    name: 'portcullis_webhook_attempts_total',
    help: 'Attempts to deliver an event by a webhook.',
    labelNames: ['result'],
    registers: [registry],
  });
  const disabled = new Counter({
    name: 'portcullis_webhooks_disabled_total',
    help: 'Webhooks that were disabled because they failed.',
    registers: [registry],
  });
  return {
    attempted({ result, ...of }) {
      attempts.inc({ result });
      const line = { result, ...of };
      if (of.detail === null) log.debug(line, 'a webhook was called');
      else log.info(line, 'a webhook was not answered');
    },
    disabled(webhookId, reason) {
      disabled.inc();
      log.warn({ webhookId, reason }, 'a webhook was disabled');
    },
    failed: (what, error) => log.error({ error }, `${what} failed`),
  };
}
