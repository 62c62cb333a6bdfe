import type {
  EdgeAnswer,
  EdgeConfirm,
  EdgeDropReport,
  EdgeHeartbeat,
  EdgePage,
  EdgeMode,
  EdgeWelcome,
  Refused,
} from '@portcullis/link/messages.ts';
import { PROTOCOL_VERSION } from '@portcullis/link/messages.ts';
import type { AgentSide } from '@portcullis/link/transport.ts';
import { type Desired, mergePages } from './desired.ts';

const REQUEST_MS = 30_000;
/** A sync of more pages than this is no sync; each holds megabytes. */
const MAX_PAGES = 10_000;

/** Control said no, in a reply. */
export class RefusedByControl extends Error {
  override readonly name = 'RefusedByControl';
  readonly code: Refused['code'];
  constructor(refused: Refused) {
    super(refused.detail);
    this.code = refused.code;
  }
}

/** The agent's half of the conversation; every call may reject with `LinkError` or `RefusedByControl`. */
export class Session {
  readonly #link: AgentSide;
  readonly #instance: string;

  constructor(link: AgentSide, instance: string) {
    this.#link = link;
    this.#instance = instance;
  }

  async hello(mode: EdgeMode, modeReason: string | null): Promise<EdgeWelcome> {
    const reply = await this.#link.request(
      {
        kind: 'edge.hello',
        protocolVersion: PROTOCOL_VERSION,
        instance: this.#instance,
        mode,
        modeReason,
      },
      REQUEST_MS,
    );
    if (reply.kind === 'edge.welcome') return reply;
    throw unexpected(reply);
  }

  /**
   * All pages of what changed since `after`, merged into what is held; of everything where `after` is 0. What is
   * held then only saves work: equal policies stay the same objects, source sets of one version are not sent.
   */
  async sync(held: Desired | null, after: number): Promise<Desired> {
    const pages: EdgePage[] = [];
    let cursor: string | null = null;
    do {
      const page = await this.#page(held, after, cursor);
      if (page.generation !== (pages[0]?.generation ?? page.generation)) {
        throw new Error('the pages of one sync are of several generations');
      }
      if (pages.length >= MAX_PAGES) throw new Error('a sync does not end');
      pages.push(page);
      cursor = page.next;
    } while (cursor !== null);
    return mergePages(held, pages);
  }

  confirm(message: Omit<EdgeConfirm, 'kind' | 'instance'>): Promise<void> {
    return this.#tell({ kind: 'edge.confirm', instance: this.#instance, ...message });
  }

  heartbeat(message: Omit<EdgeHeartbeat, 'kind' | 'instance'>): Promise<void> {
    return this.#tell({ kind: 'edge.heartbeat', instance: this.#instance, ...message });
  }

  drops(message: Omit<EdgeDropReport, 'kind' | 'instance'>): Promise<void> {
    return this.#tell({ kind: 'edge.drops', instance: this.#instance, ...message });
  }

  answer(message: Omit<EdgeAnswer, 'kind' | 'instance'>): Promise<void> {
    return this.#tell({ kind: 'edge.answer', instance: this.#instance, ...message });
  }

  async #page(held: Desired | null, after: number, cursor: string | null): Promise<EdgePage> {
    const reply = await this.#link.request(
      {
        kind: 'edge.sync',
        instance: this.#instance,
        after,
        cursor,
        sourceSetsVersion: held?.sourceSets.version ?? null,
      },
      REQUEST_MS,
    );
    if (reply.kind === 'edge.page') return reply;
    throw unexpected(reply);
  }

  async #tell(message: EdgeConfirm | EdgeHeartbeat | EdgeDropReport | EdgeAnswer): Promise<void> {
    const reply = await this.#link.request(message, REQUEST_MS);
    if (reply.kind !== 'done') throw unexpected(reply);
  }
}

function unexpected(reply: { readonly kind: string } | Refused): Error {
  if (reply.kind === 'refused' && 'code' in reply) return new RefusedByControl(reply);
  return new Error(`control answered with ${reply.kind}`);
}
