import type { ControlReply } from '../messages/messages.ts';
import { LinkError } from './transport.ts';

interface Waiting {
  readonly resolve: (reply: ControlReply) => void;
  readonly reject: (error: LinkError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Unanswered requests of an agent. Each settles exactly once: by its reply, its timeout, or the end of the link. */
export class PendingRequests {
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  add(timeoutMs: number): { readonly id: number; readonly reply: Promise<ControlReply> } {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<ControlReply>();
    const timer = setTimeout(() => {
      this.#waiting.delete(id);
      reject(new LinkError('timeout', `control did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    this.#waiting.set(id, { resolve, reject, timer });
    return { id, reply: promise };
  }

  /** A reply to a request that has timed out is dropped. */
  answer(id: number, reply: ControlReply): void {
    this.#take(id)?.resolve(reply);
  }

  fail(id: number, error: LinkError): void {
    this.#take(id)?.reject(error);
  }

  failAll(error: LinkError): void {
    for (const id of this.#waiting.keys()) this.fail(id, error);
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    return waiting;
  }
}
