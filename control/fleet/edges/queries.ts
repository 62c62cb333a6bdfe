import { randomUUID } from 'node:crypto';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { EdgeAnswer, LiveVerdict, Question } from '@portcullis/link/messages/edge.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';

/** Queries edges for their verdict on a packet. Returns the answers that arrived in time. */
export type QueryEdges = (
  edges: readonly string[],
  packet: Packet,
) => Promise<ReadonlyMap<string, LiveVerdict>>;

/** Short, because a caller waits. Edges answer within milliseconds unless they are applying or absent. */
const TIMEOUT_MS = 1_500;
/** Queries in progress; further ones return without answers. */
const MAX_OPEN = 1_000;

interface OpenQuery {
  readonly edges: ReadonlySet<string>;
  readonly answers: Map<string, LiveVerdict>;
  readonly complete: () => void;
}

/**
 * Queries of this process to the edges connected to it. An edge connected to another replica does not receive
 * them and counts as one that did not answer.
 */
export class EdgeQueries {
  readonly #timeoutMs: number;
  readonly #open = new Map<string, OpenQuery>();
  #link: Pick<ControlSide, 'notify'> | null = null;

  constructor(timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
  }

  attachLink(link: Pick<ControlSide, 'notify'>): void {
    this.#link = link;
  }

  readonly query: QueryEdges = async (edges, packet) => {
    if (this.#link === null || edges.length === 0 || this.#open.size >= MAX_OPEN) return new Map();
    const { promise: completed, resolve: complete } = Promise.withResolvers<void>();
    const id = randomUUID();
    const open: OpenQuery = { edges: new Set(edges), answers: new Map(), complete };
    this.#open.set(id, open);
    const timer = setTimeout(complete, this.#timeoutMs);
    try {
      const withinMs = this.#timeoutMs;
      const question: Question = { kind: 'question', id, edges: [...open.edges], withinMs, packet };
      this.#link.notify(question);
      await completed;
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
    return open.answers;
  };

  /** Ignores late answers and answers of edges that were not queried. */
  receiveAnswer(edge: string, { id, answer }: EdgeAnswer): void {
    const open = this.#open.get(id);
    if (open?.edges.has(edge) !== true) return;
    open.answers.set(edge, answer);
    if (open.answers.size === open.edges.size) open.complete();
  }
}
