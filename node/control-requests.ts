import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { request } from '@portcullis/agent/request.ts';
import { PROTOCOL_VERSION } from '@portcullis/link/messages/messages.ts';
import type {
  NodeAnswer,
  NodeHeartbeat,
  NodePage,
  NodeWelcome,
} from '@portcullis/link/messages/node.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { Assignments } from './journal/record.ts';

/** A sync of more pages than this is no sync. */
const MAX_PAGES = 10_000;

/** The node's half of the conversation; every call may reject with `LinkError` or `RefusedByControl`. */
export class Session {
  readonly #link: AgentSide;
  readonly #instance: string;

  constructor(link: AgentSide, instance: string) {
    this.#link = link;
    this.#instance = instance;
  }

  async hello(): Promise<NodeWelcome> {
    return request(
      this.#link,
      { kind: 'node.hello', protocolVersion: PROTOCOL_VERSION, instance: this.#instance },
      'node.welcome',
    );
  }

  /** null: what the node has is what control wants. */
  async sync(held: Assignments | null): Promise<Assignments | null> {
    const servers: ServerAssignment[] = [];
    const eggs: Record<string, Egg> = {};
    let page = await this.#page(held?.revision ?? null, null);
    if (page.unchanged && held !== null) return null;
    const { revision } = page;
    for (let pages = 1; ; pages += 1) {
      if (page.revision !== revision) throw new Error('the pages of one sync differ in revision');
      servers.push(...page.servers);
      Object.assign(eggs, page.eggs);
      if (page.next === null) return { revision, servers, eggs };
      if (pages >= MAX_PAGES) throw new Error('a sync does not end');
      page = await this.#page(held?.revision ?? null, page.next);
    }
  }

  heartbeat(message: Omit<NodeHeartbeat, 'kind' | 'instance'>): Promise<void> {
    return this.#tell({ kind: 'node.heartbeat', instance: this.#instance, ...message });
  }

  answer(message: Omit<NodeAnswer, 'kind' | 'instance'>): Promise<void> {
    return this.#tell({ kind: 'node.answer', instance: this.#instance, ...message });
  }

  async #page(revision: string | null, cursor: string | null): Promise<NodePage> {
    return request(
      this.#link,
      { kind: 'node.sync', instance: this.#instance, revision, cursor },
      'node.page',
    );
  }

  async #tell(message: NodeHeartbeat | NodeAnswer): Promise<void> {
    await request(this.#link, message, 'done');
  }
}
