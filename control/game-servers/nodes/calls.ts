import { randomUUID } from 'node:crypto';
import type { CallAnswer, NodeAnswer, NodeCall } from '@portcullis/link/messages/node.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import type { GameServerEvents } from '../events.ts';

/** Why there is no answer: not connected, too many calls, or a timeout. */
export type Silence = { readonly kind: 'silent'; readonly why: 'absent' | 'busy' | 'late' };

/** A server on its node. */
export interface ServerPlace {
  readonly node: string;
  readonly uuid: string;
}

/** How long a read and an instruction wait for their answer. */
export interface Timeouts {
  readonly readMs: number;
  readonly instructMs: number;
}

/** decisions.md: null when the node did not answer within 2 s, 502 when it did not within 5 s. */
const TIMEOUTS: Timeouts = { readMs: 2_000, instructMs: 5_000 };

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
  readonly #events: Pick<GameServerEvents, 'called'>;
  readonly timeouts: Timeouts;
  #link: Pick<ControlSide, 'notify'> | null = null;

  constructor(events: Pick<GameServerEvents, 'called'>, timeouts: Timeouts = TIMEOUTS) {
    this.#events = events;
    this.timeouts = timeouts;
  }

  /** Sets the link over which nodes are called. */
  speakThrough(link: Pick<ControlSide, 'notify'>): void {
    this.#link = link;
  }

  get open(): number {
    return this.#open.size;
  }

  /** Calls one node, or returns why there is no answer. Never rejects. */
  async call(
    place: ServerPlace,
    call: NodeCall['call'],
    withinMs: number,
  ): Promise<CallAnswer | Silence> {
    const startMs = performance.now();
    const outcome = await this.#send(place, call, withinMs);
    const isSilent = outcome.kind === 'silent';
    const tookMs = isSilent ? null : performance.now() - startMs;
    this.#events.called(place.node, call.kind, isSilent ? outcome.why : outcome.kind, tookMs);
    return outcome;
  }

  /** Takes an answer of a node. */
  answered(node: string, { id, answer }: NodeAnswer): void {
    const open = this.#open.get(id);
    if (open?.node === node) open.settle(answer);
  }

  async #send(
    { node, uuid }: ServerPlace,
    call: NodeCall['call'],
    withinMs: number,
  ): Promise<CallAnswer | Silence> {
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
