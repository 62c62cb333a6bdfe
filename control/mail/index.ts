import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { TokenBuckets } from '../token-buckets.ts';

/** Where mail goes out. */
export interface MailConfig {
  /** `smtp://user:password@host:587` or `smtps://…:465`. */
  readonly url: string;
  readonly from: string;
}

/** A message of plain text. */
export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mail {
  /**
   * Takes the turn of a sender, such as a person, and of its organisation, which may have any number of senders; false
   * when one has sent too many of late. Then `send` is called after the commit.
   */
  allows(sender: string, organisationId: number | null): boolean;
  /** Sends in the background, with a few retries. A failure is logged. */
  send(message: Message): void;
  /** Waits for what is being sent, for as long as its time limit is. */
  stop(): Promise<void>;
}

interface MailDeps {
  readonly config: MailConfig;
  readonly log: Logger;
  readonly registry: Registry;
  /** Waits between the attempts. */
  readonly retryMs?: readonly number[];
}

/** Mails of a sender in an hour, by this process: an invitation goes to an address that anybody types. */
const PER_SENDER = { capacity: 30, perSecond: 30 / 3_600 } as const;
const PER_ORGANISATION = { capacity: 100, perSecond: 100 / 3_600 } as const;
const TIMEOUT_MS = 10_000;
const RETRY_MS: readonly number[] = [2_000, 30_000];

/** Mail by SMTP. Nothing is stored, because a mail has a link that only its recipient may read. */
export function createMail({ config, log, registry, retryMs = RETRY_MS }: MailDeps): Mail {
  const sent = new Counter({
    name: 'portcullis_mails_total',
    help: 'Mails, by whether the server took them.',
    labelNames: ['result'],
    registers: [registry],
  });
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();
  const senders = new TokenBuckets();

  async function attempt(message: Message): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        await sendOnce(config, message);
        sent.inc({ result: 'sent' });
        return;
      } catch (error) {
        const waitMs = retryMs[tries];
        log.warn({ error, isLast: waitMs === undefined }, 'a mail was not taken');
        if (waitMs === undefined) break;
        await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => {});
        if (stopping.signal.aborted) break;
      }
    }
    sent.inc({ result: 'failed' });
  }

  return {
    allows: (sender, organisationId) =>
      senders.take(sender, PER_SENDER).isTaken &&
      (organisationId === null || senders.take(organisationId, PER_ORGANISATION).isTaken),
    send(message) {
      const running = attempt(message).finally(() => underWay.delete(running));
      underWay.add(running);
    },
    async stop() {
      stopping.abort();
      await Promise.all(underWay);
    },
  };
}

/** One connection for each mail: there are few. The library is loaded when the first is sent. */
async function sendOnce({ url: text, from }: MailConfig, message: Message): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const url = new URL(text);
  const isSecure = url.protocol === 'smtps:';
  const transport = createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (isSecure ? 465 : 587),
    secure: isSecure,
    // A password goes over no plain connection.
    requireTLS: url.username !== '',
    ...(url.username !== '' && {
      auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { to, ...rest } = message;
    // As objects, so that a comma in an address makes no second one.
    await transport.sendMail({
      ...rest,
      from: { name: 'Portcullis', address: from },
      to: { name: '', address: to },
    });
  } finally {
    transport.close();
  }
}
