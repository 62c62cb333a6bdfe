import { randomUUID } from 'node:crypto';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { EdgeAnswer, LiveVerdict, Question } from '@portcullis/link/messages/edge.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';

/** Asks edges what they do with a packet; answers those that did in time. */
export type AskEdges = (
  edges: readonly string[],
  packet: Packet,
) => Promise<ReadonlyMap<string, LiveVerdict>>;

/** A person waits for the answer. Edges answer within milliseconds, or are busy applying, or are not there. */
const WITHIN_MS = 1_500;
/** Questions under way; what comes beyond goes without answers rather than pile up. */
const MAX_OPEN = 1_000;

interface Open {
  readonly asked: ReadonlySet<string>;
  readonly answers: Map<string, LiveVerdict>;
  readonly complete: () => void;
}

/**
 * Questions of this process to edges that are connected to it. An edge that is connected to another replica
 * hears nothing of them, and counts as one that did not answer.
 */
export class Questions {
  readonly #withinMs: number;
  readonly #open = new Map<string, Open>();
  #link: Pick<ControlSide, 'notify'> | null = null;

  constructor(withinMs = WITHIN_MS) {
    this.#withinMs = withinMs;
  }

  /** From now on there is somebody to ask. */
  speakThrough(link: Pick<ControlSide, 'notify'>): void {
    this.#link = link;
  }

  readonly ask: AskEdges = async (edges, packet) => {
    if (this.#link === null || edges.length === 0 || this.#open.size >= MAX_OPEN) return new Map();
    const { promise: completed, resolve: complete } = Promise.withResolvers<void>();
    const id = randomUUID();
    const open: Open = { asked: new Set(edges), answers: new Map(), complete };
    this.#open.set(id, open);
    const late = setTimeout(complete, this.#withinMs);
    try {
      const withinMs = this.#withinMs;
      const question: Question = { kind: 'question', id, edges: [...open.asked], withinMs, packet };
      this.#link.notify(question);
      await completed;
    } finally {
      clearTimeout(late);
      this.#open.delete(id);
    }
    return open.answers;
  };

  /** Late answers, and those of somebody who was not asked, change nothing. */
  answered(edge: string, { id, answer }: EdgeAnswer): void {
    const open = this.#open.get(id);
    if (open?.asked.has(edge) !== true) return;
    open.answers.set(edge, answer);
    if (open.answers.size === open.asked.size) open.complete();
  }
}
