import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that the present code serves, so that a queue deep inside knows when nobody waits any more. */
const served = new AsyncLocalStorage<{ readonly ended: AbortSignal }>();

/** Runs `serve` as the service of a request. */
export function inRequest<T>(request: { readonly ended: AbortSignal }, serve: () => T): T {
  return served.run(request, serve);
}

/** Its `ended` aborts when the request was answered or its client left; undefined where no request is served. */
export function presentRequest(): { readonly ended: AbortSignal } | undefined {
  return served.getStore();
}
