import type { FileAnswer, FileCall } from '@portcullis/link/messages/files.ts';
import type { AnswerTo } from '@portcullis/link/messages/messages.ts';
import type { NodeAnswer, NodeCall, NodeImageCall } from '@portcullis/link/messages/node.ts';
import { type ControlSide, LinkError } from '@portcullis/link/transport/transport.ts';
import type { CallKind, GameServerEvents } from '../events.ts';

/** Why there is no answer: not connected, too many calls, or a timeout. */
export type Silence = { readonly kind: 'silent'; readonly why: 'absent' | 'busy' | 'cut' | 'late' };

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

/** The most concurrent calls per node; more are refused. */
const MAX_OPEN_OF_NODE = 1_000;

/** Calls to nodes: at most so many at once to each, each counted with its outcome. */
export class NodeCalls {
  readonly #ofNode = new Map<string, number>();
  readonly #events: Pick<GameServerEvents, 'called'>;
  readonly timeouts: Timeouts;
  #link: Pick<ControlSide, 'call'> | null = null;

  constructor(events: Pick<GameServerEvents, 'called'>, timeouts: Timeouts = TIMEOUTS) {
    this.#events = events;
    this.timeouts = timeouts;
  }

  /** Sets the link over which nodes are called. */
  useLink(link: Pick<ControlSide, 'call'>): void {
    this.#link = link;
  }

  /** Calls one node, or returns why there is no answer. Never rejects. */
  async call(
    place: ServerPlace,
    call: NodeCall['call'],
    withinMs: number,
  ): Promise<NodeAnswer | Silence> {
    const { node, uuid } = place;
    const request = { kind: 'node.call', withinMs, uuid, call } as const;
    return this.#sendCounted(node, request, call.kind, withinMs);
  }

  /** Asks a node for something about the files of a server. Never rejects. */
  files(
    { node, uuid }: ServerPlace,
    message: Pick<FileCall, 'rights' | 'actor' | 'caller' | 'operation'>,
    withinMs: number,
  ): Promise<FileAnswer | Silence> {
    const request = { kind: 'node.files', withinMs, uuid, ...message } as const;
    return this.#sendCounted(node, request, `files.${message.operation.kind}`, withinMs);
  }

  /** Asks a node to begin to make an image. Never rejects. */
  makeImage(node: string, name: string): Promise<NodeAnswer | Silence> {
    return this.#send(node, { kind: 'node.image', name }, this.timeouts.instructMs);
  }

  async #sendCounted<C extends NodeCall | FileCall>(
    node: string,
    request: C,
    kind: CallKind,
    withinMs: number,
  ): Promise<AnswerTo<C> | Silence> {
    const startMs = performance.now();
    const outcome = await this.#send(node, request, withinMs);
    const isSilent = outcome.kind === 'silent';
    const tookMs = isSilent ? null : performance.now() - startMs;
    this.#events.called(node, kind, isSilent ? outcome.why : outcome.kind, tookMs);
    return outcome;
  }

  async #send<C extends NodeCall | NodeImageCall | FileCall>(
    node: string,
    request: C,
    withinMs: number,
  ): Promise<AnswerTo<C> | Silence> {
    const ofNode = this.#ofNode.get(node) ?? 0;
    if (ofNode >= MAX_OPEN_OF_NODE) return { kind: 'silent', why: 'busy' };
    if (this.#link === null) return { kind: 'silent', why: 'absent' };
    this.#ofNode.set(node, ofNode + 1);
    try {
      return await this.#link.call({ kind: 'node', name: node }, request, withinMs);
    } catch (error) {
      const code = error instanceof LinkError ? error.code : 'disconnected';
      const why = code === 'timeout' ? 'late' : code === 'interrupted' ? 'cut' : 'absent';
      return { kind: 'silent', why };
    } finally {
      const left = (this.#ofNode.get(node) ?? 1) - 1;
      if (left === 0) this.#ofNode.delete(node);
      else this.#ofNode.set(node, left);
    }
  }
}
