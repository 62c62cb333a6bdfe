import { LinkError } from './transport.ts';

interface Waiting<T> {
  readonly resolve: (reply: T) => void;
  readonly reject: (error: LinkError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Unanswered requests to one peer. Each settles exactly once: by its reply, its timeout, or the end of the link. */
export class PendingRequests<T> {
  readonly #peer: string;
  readonly #waiting = new Map<number, Waiting<T>>();
  #lastId = 0;

  /** `peer` names the other side in errors. */
  constructor(peer: string) {
    this.#peer = peer;
  }

  /** Sends a request under a new id. */
  start(timeoutMs: number, send: (id: number) => void): Promise<T> {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(() => {
      this.#waiting.delete(id);
      reject(new LinkError('timeout', `${this.#peer} did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    this.#waiting.set(id, { resolve, reject, timer });
    try {
      send(id);
    } catch (error) {
      this.fail(id, error as LinkError);
    }
    return promise;
  }

  /** A reply to a request that has timed out is dropped. */
  answer(id: number, reply: T): void {
    this.#take(id)?.resolve(reply);
  }

  fail(id: number, error: LinkError): void {
    this.#take(id)?.reject(error);
  }

  failAll(error: LinkError): void {
    for (const id of this.#waiting.keys()) this.fail(id, error);
  }

  #take(id: number): Waiting<T> | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    return waiting;
  }
}
