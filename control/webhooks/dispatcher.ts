import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { ATTEMPTS, retryAfterMs } from '@portcullis/core/webhooks/retry.ts';
import type { Db } from '../db/database.ts';
import type { LoggedAttempt } from '../db/schema.ts';
import type { WebhookEvents } from './events.ts';
import { messageBody, messageHeaders, messageId } from './message.ts';
import {
  type Busy,
  claimDeliveries,
  type DueDelivery,
  releaseDelivery,
  saveAttempt,
  saveFailure,
  untilNextDue,
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
  /** Default: as core/webhooks decides. */
  readonly retryMs?: (attempt: number) => number | null;
}

export interface Dispatcher {
  /** Called on a notification of `portcullis_webhooks`, and after notifications were lost. */
  wake(): void;
  /** Breaks off attempts; another process repeats them. */
  stop(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
/** Also without a notification, for what the lease of a killed process gives back. */
const LONGEST_WAIT_MS = 60_000;
/** What is due and not claimed is being claimed by another process. */
const LEAST_WAIT_MS = 50;
const AFTER_FAILURE_MS = 2_000;
const GONE = 410;
/** The most concurrent attempts of this process, by webhook and by organisation. */
const AT_A_TIME = 128;
const PER_WEBHOOK = 4;
const PER_ORGANISATION = 12;

/** Makes due deliveries until it is stopped. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  return new WebhookDispatcher(options);
}

class WebhookDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<DueDelivery, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #isWoken = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.wake();
  }

  wake(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isWoken = true;
    clearTimeout(this.#timer);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      // Woken while it looked for the next time: what woke it may have come after that.
      if (this.#isWoken) this.wake();
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#underWay.values());
  }

  async #look(): Promise<void> {
    let waitMs = LONGEST_WAIT_MS;
    try {
      // Once more after each claim, because a claim takes a few of each webhook.
      while (this.#isWoken && !this.#stopping.signal.aborted) {
        this.#isWoken = await this.#claim();
      }
      const next = await untilNextDue(this.#options.db, this.#busy());
      waitMs = Math.min(Math.max(next ?? LONGEST_WAIT_MS, LEAST_WAIT_MS), LONGEST_WAIT_MS);
    } catch (error) {
      this.#options.events.failed('looking for webhooks to deliver', error);
      this.#isWoken = false;
      waitMs = AFTER_FAILURE_MS;
    }
    // At capacity the end of an attempt wakes it.
    if (this.#stopping.signal.aborted || this.#underWay.size >= AT_A_TIME) return;
    this.#timer = setTimeout(() => this.wake(), waitMs);
  }

  /** Returns whether there may be more. */
  async #claim(): Promise<boolean> {
    const free = AT_A_TIME - this.#underWay.size;
    this.#isWoken = false;
    if (free <= 0) return false;
    const claimed = await claimDeliveries(this.#options.db, free, this.#busy());
    for (const due of claimed) {
      const running = this.#deliver(due).finally(() => {
        this.#underWay.delete(due);
        this.wake();
      });
      this.#underWay.set(due, running);
    }
    return this.#isWoken || claimed.length > 0;
  }

  #busy(): Busy {
    const all = [...this.#underWay.keys()];
    const atLimit = (of: (due: DueDelivery) => number, most: number): number[] =>
      [...Map.groupBy(all, of)].flatMap(([id, running]) => (running.length >= most ? [id] : []));
    return {
      webhooks: atLimit(({ webhookId }) => webhookId, PER_WEBHOOK),
      organisations: atLimit(({ organisationId }) => organisationId, PER_ORGANISATION),
    };
  }

  async #deliver(due: DueDelivery): Promise<void> {
    const { db, events } = this.#options;
    try {
      // It was disabled while this one was queued.
      if (due.isDisabled) return void (await saveFailure(db, due, null, null));
      const at = new Date();
      const began = performance.now();
      const result = await this.#send(due, at);
      if (result === null) return await releaseDelivery(db, due);
      await this.#settle(due, result, {
        at: timeView(at),
        duration_ms: Math.round(performance.now() - began),
        response_status: result.status,
        error: result.error,
      });
    } catch (error) {
      events.failed(`delivering by the webhook ${due.webhookId}`, error);
    }
  }

  /** Null: a stop broke it off. */
  async #send(due: DueDelivery, at: Date): Promise<SendResult | null> {
    const { networks, resolve, own, timeoutMs = TIMEOUT_MS } = this.#options;
    const id = messageId(due.eventId);
    const body = messageBody(due, due.url);
    const secrets = [due.secret, ...(due.previousSecret === null ? [] : [due.previousSecret])];
    const headers = messageHeaders(id, body, secrets, at.getTime());
    const options = { networks, timeoutMs, resolve, own };
    const { signal } = this.#stopping;
    return sendMessage({ url: due.url, headers, body }, options, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
  }

  async #settle(due: DueDelivery, { status, error, detail }: SendResult, attempt: LoggedAttempt) {
    const { db, events, retryMs = (nth) => retryAfterMs(nth, Math.random()) } = this.#options;
    const { webhookId, kind, attempts } = due;
    const isTest = kind === 'webhook.test';
    const waitMs = isTest || status === GONE ? null : retryMs(attempts);
    const result = error === null ? 'delivered' : waitMs === null ? 'failed' : 'retried';
    if (error === null) await saveAttempt(db, due, attempt, null);
    else if (waitMs !== null) await saveAttempt(db, due, attempt, waitMs);
    else {
      const disable = isTest ? null : disableFor(due, status, error);
      const isDisabled = await saveFailure(db, due, attempt, disable);
      if (isDisabled && disable !== null) events.disabled(webhookId, disable.reason);
    }
    events.attempted({ webhookId, kind, attempts, result, error, detail });
  }
}

function disableFor({ kind, attempts }: DueDelivery, status: number | null, error: string) {
  if (status === GONE) {
    return { isFinal: true, reason: 'The receiver answered 410: it wants no more.' };
  }
  const tries = attempts >= ATTEMPTS ? `${attempts} attempts in a day` : `${attempts} attempts`;
  const reason = `Nothing was delivered since ${kind} failed in ${tries}. The last error: ${error}`;
  return { isFinal: false, reason };
}
