import { ConnectionError, errorOf, TimeoutError } from './errors.ts';
import type { ResponseInfo } from './types.ts';

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Attempt {
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** One attempt: the body and headers of a 2xx answer. Throws a `PortcullisError`, or the reason of the signal. */
export async function send(request: Request, attempt: Attempt): Promise<object> {
  const { url, ...init } = request;
  return within(attempt, async (signal) => {
    // Never followed: a key must not be sent to another host.
    const response = await attempt.fetch(url, { ...init, signal, redirect: 'error' });
    const text = await response.text();
    if (!response.ok) throw errorOf(response, text);
    const body: unknown = text === '' ? {} : parse(text);
    if (typeof body !== 'object' || body === null) throw errorOf(response, '');
    return { ...body, response: infoOf(response) };
  });
}

/** Runs with a signal that also ends after the timeout, and names what failed. */
export async function within<T>(
  { timeoutMs, signal }: Omit<Attempt, 'fetch'>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const ending = new AbortController();
  const abort = (): void => ending.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const timedOut = new TimeoutError(`There was no answer within ${timeoutMs} ms.`);
  const timer = setTimeout(() => ending.abort(timedOut), timeoutMs);
  try {
    return await run(ending.signal);
  } catch (error) {
    // Runtimes wrap the reason in errors of their own.
    if (ending.signal.aborted) throw ending.signal.reason;
    // fetch rejects with a TypeError when there is no answer.
    if (!(error instanceof TypeError)) throw error;
    throw new ConnectionError(`The service cannot be reached: ${causeOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function infoOf({ status, headers }: Response): ResponseInfo {
  const number = (name: string): number | null => {
    const value = headers.get(name);
    return value === null ? null : Number(value);
  };
  return {
    status,
    requestId: headers.get('x-request-id'),
    generation: number('portcullis-generation'),
    acceptedGeneration: number('portcullis-accepted-generation'),
    enforcement: headers.get('portcullis-enforcement') as ResponseInfo['enforcement'],
    etag: headers.get('etag'),
    isReplayed: headers.has('idempotency-replayed'),
  };
}

function causeOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
