import { createHmac } from 'node:crypto';
import { chatBody, webhookFormat } from '@portcullis/core/webhooks/format.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';

export interface WebhookEvent {
  readonly eventId: number;
  readonly kind: string;
  readonly target: string;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>>;
  /** The slug of its organisation. */
  readonly organisation: string;
}

/** The header `webhook-id`: one for an event, however often it is delivered. */
export function messageId(eventId: number): string {
  return `msg_${eventId}`;
}

/**
 * The body that the receiver of a URL reads.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure
 */
export function messageBody(
  { kind, target: stored, at, data, organisation }: WebhookEvent,
  url: string,
): string {
  const target = canonicalAddress(stored) ?? stored;
  const format = webhookFormat(url);
  if (format !== 'standard') return chatBody(format, { kind, target, organisation, data });
  return JSON.stringify({
    type: kind,
    timestamp: at.toISOString().replace('Z', '+00:00'),
    data: { organisation, target, ...data },
  });
}

/**
 * The headers of a Standard Webhooks message; a receiver accepts any of its signatures.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme
 */
export function messageHeaders(
  id: string,
  body: string,
  secrets: readonly Buffer[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
    return `v1,${mac}`;
  });
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
