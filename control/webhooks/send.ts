import { Resolver } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { mayConnect } from '@portcullis/core/net/public-address.ts';
import { literalAddress, parseWebhookUrl } from '@portcullis/core/webhooks/url.ts';

export interface SendResult {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** Null: it succeeded. */
  readonly error: string | null;
}

export interface SendOptions {
  /** Networks that are reached though they are not public. */
  readonly networks: readonly Cidr[];
  /** The time for everything, from the name to the end of the answer. */
  readonly timeoutMs: number;
  /** The addresses of a name; default: of DNS. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer is read to this size and thrown away, so that a receiver need not see its connection break. */
const ANSWER_BYTES = 64 * 1024;
const MOST_ADDRESSES = 4;
const ERROR_LENGTH = 200;

/**
 * Posts a message; any 2xx is a success. The name is resolved here and the connection goes to an address that was
 * checked, so a name that changes its address between check and use gains nothing. Redirects are not followed. Throws
 * nothing but the reason of the signal.
 */
export async function sendMessage(
  { url: text, headers, body }: Message,
  { networks, timeoutMs, resolve = resolveName }: SendOptions,
  signal: AbortSignal,
): Promise<SendResult> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const both = AbortSignal.any([signal, timeout]);
  try {
    const url = parseWebhookUrl(text, networks);
    if (!url.ok) return { status: null, error: `The URL ${url.reason}.` };
    const addresses = await unless(both, addressesOf(url.value, resolve));
    const usable = addresses.filter((address) => mayConnect(address, networks));
    if (usable.length === 0) {
      return { status: null, error: `${url.value.hostname} has no public address.` };
    }
    const status = await post(url.value, usable.slice(0, MOST_ADDRESSES), headers, body, both);
    return { status, error: describeStatus(status) };
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) return { status: null, error: `No answer within ${timeoutMs / 1000} s.` };
    return { status: null, error: describeError(error) };
  }
}

async function addressesOf(
  url: URL,
  resolve: NonNullable<SendOptions['resolve']>,
): Promise<readonly string[]> {
  const literal = literalAddress(url);
  return literal === null ? resolve(url.hostname) : [literal];
}

/** Asks DNS itself, because getaddrinfo would occupy a thread of the pool for as long as a customer's server hangs. */
async function resolveName(name: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
  return [v4, v6].flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
}

/** The status of the answer, when it was read or is too long. */
function post(
  url: URL,
  addresses: readonly string[],
  headers: Message['headers'],
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [first = { address: '', family: 0 }] = found;
    if (all === true) done(null, found);
    else done(null, first.address, first.family);
  };
  const { request } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      lookup,
      // A connection for each message: none is reused for another address than the checked one.
      agent: false,
      signal,
      headers: { ...headers, 'user-agent': 'Portcullis-Webhooks/1', connection: 'close' },
    });
    let status: number | null = null;
    // The status counts, whatever becomes of the rest of the answer.
    sent.on('error', (error) => (status === null ? reject(error) : resolve(status)));
    sent.on('response', (response) => {
      const { statusCode = 0 } = response;
      status = statusCode;
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES) response.destroy();
      });
      response.on('error', () => {});
      response.on('close', () => resolve(statusCode));
    });
    sent.end(body);
  });
}

function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `HTTP ${status}: redirects are not followed.`;
  return `HTTP ${status}.`;
}

function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return describeError(error.errors[0]);
  }
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .slice(0, ERROR_LENGTH);
}

/** Rejects when the signal is aborted first; the promise goes on without a reader. */
async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
