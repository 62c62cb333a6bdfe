import { randomUUID } from 'node:crypto';
import type { CallAnswer, NodeAnswer, NodeCall } from '@portcullis/link/messages/node.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';

/** Why there is no answer: nobody of this name is connected, too much is asked of it already, or it took too long. */
export type Silence = { readonly kind: 'silent'; readonly why: 'absent' | 'busy' | 'late' };

export interface CallRequest {
  readonly node: string;
  readonly uuid: string;
  readonly withinMs: number;
  readonly call: NodeCall['call'];
}

/** Calls one node, or says why nobody answered. Never rejects. */
export type CallNode = (request: CallRequest) => Promise<CallAnswer | Silence>;

/** Under way, for one node and for all: what comes beyond is told so rather than pile up. */
const MAX_OPEN_OF_NODE = 1_000;
const MAX_OPEN = 10_000;

interface Open {
  readonly node: string;
  readonly settle: (answer: CallAnswer | Silence) => void;
}

/**
 * Calls of this process to nodes that are connected to it. An answer counts once, from the node that was
 * called, in its time; every other is dropped.
 */
export class NodeCalls {
  readonly #open = new Map<string, Open>();
  readonly #ofNode = new Map<string, number>();
  /** Looks at a server that are under way: whoever else wants to know meanwhile waits for the same. */
  readonly #looks = new Map<string, Promise<CallAnswer | Silence>>();
  #link: Pick<ControlSide, 'notify'> | null = null;

  /** From now on there is somebody to call. */
  speakThrough(link: Pick<ControlSide, 'notify'>): void {
    this.#link = link;
  }

  get open(): number {
    return this.#open.size;
  }

  readonly call: CallNode = async (request) => {
    if (request.call.kind !== 'look') return this.#send(request);
    const key = `${request.node} ${request.uuid}`;
    const known = this.#looks.get(key);
    if (known !== undefined) return known;
    const look = this.#send(request);
    this.#looks.set(key, look);
    void look.then(() => this.#looks.delete(key));
    return look;
  };

  /** From the node of this name. */
  answered(node: string, { id, answer }: NodeAnswer): void {
    const open = this.#open.get(id);
    if (open?.node === node) open.settle(answer);
  }

  async #send({ node, uuid, withinMs, call }: CallRequest): Promise<CallAnswer | Silence> {
    const ofNode = this.#ofNode.get(node) ?? 0;
    if (this.#open.size >= MAX_OPEN || ofNode >= MAX_OPEN_OF_NODE) {
      return { kind: 'silent', why: 'busy' };
    }
    const { promise, resolve: settle } = Promise.withResolvers<CallAnswer | Silence>();
    const id = randomUUID();
    this.#open.set(id, { node, settle });
    this.#ofNode.set(node, ofNode + 1);
    const late = setTimeout(() => settle({ kind: 'silent', why: 'late' }), withinMs);
    try {
      const handed = this.#link?.notify({ kind: 'node.call', id, node, withinMs, uuid, call }) ?? 0;
      if (handed === 0) return { kind: 'silent', why: 'absent' };
      return await promise;
    } finally {
      clearTimeout(late);
      this.#open.delete(id);
      const left = (this.#ofNode.get(node) ?? 1) - 1;
      if (left === 0) this.#ofNode.delete(node);
      else this.#ofNode.set(node, left);
    }
  }
}
