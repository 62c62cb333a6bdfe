import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { DELIVERY_BACK_OFF, retryAfterMs } from '@portcullis/core/outbox/back-off.ts';
import type { Db } from '../db/database.ts';
import type { LoggedAttempt } from '../db/schema.ts';
import { type Outbox, type Sender, startOutbox } from '../outbox/index.ts';
import type { WebhookEvents } from './events.ts';
import { messageBody, messageHeaders, messageId } from './message.ts';
import {
  claimDeliveries,
  DELIVERIES,
  type DueDelivery,
  saveAttempt,
  saveFailure,
} from './queue.ts';
import { sendMessage, type SendOptions, type SendResult } from './send.ts';
import { timeView } from './views.ts';

export interface DispatcherOptions {
  readonly db: Db;
  readonly events: WebhookEvents;
  readonly networks: readonly Cidr[];
  readonly resolve?: SendOptions['resolve'];
  readonly own?: SendOptions['own'];
  /** Default 10 s. */
  readonly timeoutMs?: number;
  /** Default: DELIVERY_BACK_OFF. */
  readonly retryMs?: (attempt: number) => number | null;
}

const TIMEOUT_MS = 10_000;
const LONGEST_WAIT_MS = 60_000;
const GONE = 410;
const AT_A_TIME = 128;

interface Sent {
  readonly result: SendResult;
  readonly attempt: LoggedAttempt;
}

/** Makes due deliveries until it is stopped. Woken by notifications of `portcullis_webhooks`. */
export function startDispatcher(options: DispatcherOptions): Outbox {
  return startOutbox(options.db, new DeliverySender(options));
}

/** Sends deliveries. The result is null when the webhook was disabled while the delivery was queued. */
class DeliverySender implements Sender<DueDelivery, Sent | null> {
  readonly table = DELIVERIES;
  readonly work = 'deliveries of webhooks';
  readonly atATime = AT_A_TIME;
  readonly longestWaitMs = LONGEST_WAIT_MS;
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  claim(room: number): Promise<DueDelivery[]> {
    return claimDeliveries(this.#options.db, room);
  }

  async send(due: DueDelivery, signal: AbortSignal): Promise<Sent | null> {
    if (due.isDisabled) return null;
    const { networks, resolve, own, timeoutMs = TIMEOUT_MS } = this.#options;
    const at = new Date();
    const began = performance.now();
    const body = messageBody(due, due.url);
    const secrets = [due.secret, ...(due.previousSecret === null ? [] : [due.previousSecret])];
    const headers = messageHeaders(messageId(due.eventId), body, secrets, at.getTime());
    const options = { networks, timeoutMs, resolve, own };
    const result = await sendMessage({ url: due.url, headers, body }, options, signal);
    const attempt = {
      at: timeView(at),
      duration_ms: Math.round(performance.now() - began),
      response_status: result.status,
      error: result.error,
    };
    return { result, attempt };
  }

  async settle(due: DueDelivery, sent: Sent | null): Promise<void> {
    const { db, events } = this.#options;
    if (sent === null) return void (await saveFailure(db, due, null, null));
    const { webhookId, kind, attempts } = due;
    const { error, detail } = sent.result;
    const outcome = await this.#store(due, sent);
    events.attempted({ webhookId, kind, attempts, result: outcome, error, detail });
  }

  async #store(due: DueDelivery, { result, attempt }: Sent) {
    const { db, events, retryMs = defaultRetryMs } = this.#options;
    const { status, error } = result;
    if (error === null) {
      return (await saveAttempt(db, due, attempt, null)) ? 'delivered' : 'superseded';
    }
    const isTest = due.kind === 'webhook.test';
    const waitMs = isTest || status === GONE ? null : retryMs(due.attempts);
    if (waitMs !== null) {
      return (await saveAttempt(db, due, attempt, waitMs)) ? 'retried' : 'superseded';
    }
    const disable = isTest ? null : disableFor(due, status, error);
    const { isStored, isDisabled } = await saveFailure(db, due, attempt, disable);
    if (isDisabled && disable !== null) events.disabled(due.webhookId, disable.reason);
    return isStored ? 'failed' : 'superseded';
  }

  failed(what: string, error: unknown): void {
    this.#options.events.failed(what, error);
  }
}

function defaultRetryMs(attempt: number): number | null {
  return retryAfterMs(DELIVERY_BACK_OFF, attempt, Math.random());
}

function disableFor({ kind, attempts }: DueDelivery, status: number | null, error: string) {
  if (status === GONE) {
    return { isFinal: true, reason: 'The receiver answered 410: it wants no more.' };
  }
  const isLast = attempts >= DELIVERY_BACK_OFF.attempts;
  const tries = isLast ? `${attempts} attempts in a day` : `${attempts} attempts`;
  const reason = `Nothing was delivered since ${kind} failed in ${tries}. The last error: ${error}`;
  return { isFinal: false, reason };
}
