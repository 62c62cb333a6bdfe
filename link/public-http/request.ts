import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { findPublicTarget, type PublicTarget, type Reach } from './public-target.ts';

/** Redirects that are followed. */
export const MAX_REDIRECTS = 5;

export interface PublicRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Begins a request to a checked target. Every request to an address that a caller named is made here. */
export function requestPublic(
  { url, lookup }: PublicTarget,
  { method, headers, signal }: PublicRequest,
): ClientRequest {
  const { request } = url.protocol === 'https:' ? https : http;
  return request(url, {
    method,
    lookup,
    // A connection for each request: none is reused for another address than the checked one.
    agent: false,
    signal,
    headers: { ...headers, connection: 'close' },
  });
}

/** Says why redirects were not followed to their end. */
export class RedirectRefused extends Error {
  override readonly name = 'RedirectRefused';
}

export interface GetOptions extends Reach {
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Gets a URL that a caller named, through at most five redirects, each checked like the first URL: to an address that may be
 * reached, without credentials, and never from https to http. Resolves with the answer that is no redirect, whatever its
 * status, whose body the caller reads or destroys. Rejects with `NotReachable`, `RedirectRefused`, the reason of the
 * signal, or the error of the connection.
 */
export async function getPublic(
  text: string,
  { headers, ...reach }: GetOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let next = text;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const target = await findPublicTarget(next, reach, signal);
    const answer = await answerOf(requestPublic(target, { method: 'GET', headers, signal }));
    const location = locationOf(answer);
    if (location === null) return answer;
    answer.on('error', () => undefined).destroy();
    next = nextOf(location, target.url);
  }
  throw new RedirectRefused(`It was redirected more than ${MAX_REDIRECTS} times.`);
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
    request.end();
  });
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where an answer leads; null for one that is no redirect. */
function locationOf({ statusCode = 0, headers }: IncomingMessage): string | null {
  return REDIRECTS.has(statusCode) ? (headers.location ?? null) : null;
}

function nextOf(location: string, from: URL): string {
  const url = URL.parse(location, from.href);
  if (url === null) throw new RedirectRefused('It was redirected to something that is no URL.');
  if (from.protocol === 'https:' && url.protocol === 'http:')
    throw new RedirectRefused('It was redirected from https to http.');
  return url.href;
}
