import { randomUUID } from 'node:crypto';
import type { CallAnswer, NodeAnswer, NodeCall } from '@portcullis/link/messages/node.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';

/** Why there is no answer: not connected, too many calls, or a timeout. */
export type Silence = { readonly kind: 'silent'; readonly why: 'absent' | 'busy' | 'late' };

export interface CallRequest {
  readonly node: string;
  readonly uuid: string;
  readonly withinMs: number;
  readonly call: NodeCall['call'];
}

/** Calls one node, or returns why there is no answer. Never rejects. */
export type CallNode = (request: CallRequest) => Promise<CallAnswer | Silence>;

/** The most concurrent calls per node and in total; more are refused. */
const MAX_OPEN_OF_NODE = 1_000;
const MAX_OPEN = 10_000;

interface Open {
  readonly node: string;
  readonly settle: (answer: CallAnswer | Silence) => void;
}

/**
 * Calls from this process to its connected nodes. An answer counts once, from the called node, in time; others are
 * dropped.
 */
export class NodeCalls {
  readonly #open = new Map<string, Open>();
  readonly #ofNode = new Map<string, number>();
  /** Running reads of servers, shared by concurrent readers. */
  readonly #looks = new Map<string, Promise<CallAnswer | Silence>>();
  #link: Pick<ControlSide, 'notify'> | null = null;

  /** Sets the link over which nodes are called. */
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

  /** Takes an answer of a node. */
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
