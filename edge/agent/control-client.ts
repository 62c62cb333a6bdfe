import { request } from '@portcullis/agent/request.ts';
import type {
  EdgeConfirm,
  EdgeDropReport,
  EdgeHeartbeat,
  EdgeMode,
  EdgePage,
  EdgeWelcome,
} from '@portcullis/link/messages/edge.ts';
import { PROTOCOL_VERSION } from '@portcullis/link/messages/messages.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { type Desired } from '@portcullis/dataplane/desired.ts';
import { mergePages } from '../reconcile/desired.ts';

/** A bound against a sync that never ends; each page holds megabytes. */
const MAX_PAGES = 10_000;

/** The edge's requests to control. Every call may reject with `LinkError` or `RefusedByControl`. */
export class ControlClient {
  readonly #link: AgentSide;
  readonly #instance: string;

  constructor(link: AgentSide, instance: string) {
    this.#link = link;
    this.#instance = instance;
  }

  async hello(mode: EdgeMode, modeReason: string | null): Promise<EdgeWelcome> {
    return request(
      this.#link,
      {
        kind: 'edge.hello',
        protocolVersion: PROTOCOL_VERSION,
        instance: this.#instance,
        mode,
        modeReason,
      },
      'edge.welcome',
    );
  }

  /**
   * Fetches all pages of the changes since generation `after` (0: of the whole state) and merges them into `held`. With
   * `after` 0, `held` only saves work: equal policies stay the same objects, and source sets of the same version are
   * not sent. `onPage` gets each page while control makes the next one.
   */
  async sync(
    held: Desired | null,
    after: number,
    onPage: (page: EdgePage) => void = () => {},
  ): Promise<Desired> {
    const pages: EdgePage[] = [];
    let next: Promise<EdgePage> | null = this.#page(held, after, null);
    while (next !== null) {
      const page: EdgePage = await next;
      if (page.generation !== (pages[0]?.generation ?? page.generation)) {
        throw new Error('the pages of one sync are of several generations');
      }
      if (pages.length >= MAX_PAGES) throw new Error('a sync does not end');
      pages.push(page);
      next = page.next === null ? null : this.#page(held, after, page.next);
      // The next round awaits it and handles its failure.
      next?.catch(() => {});
      onPage(page);
    }
    return mergePages(held, pages);
  }

  confirm(message: Omit<EdgeConfirm, 'kind' | 'instance'>): Promise<void> {
    return this.#send({ kind: 'edge.confirm', instance: this.#instance, ...message });
  }

  heartbeat(message: Omit<EdgeHeartbeat, 'kind' | 'instance'>): Promise<void> {
    return this.#send({ kind: 'edge.heartbeat', instance: this.#instance, ...message });
  }

  drops(message: Omit<EdgeDropReport, 'kind' | 'instance'>): Promise<void> {
    return this.#send({ kind: 'edge.drops', instance: this.#instance, ...message });
  }

  async #page(held: Desired | null, after: number, cursor: string | null): Promise<EdgePage> {
    return request(
      this.#link,
      {
        kind: 'edge.sync',
        instance: this.#instance,
        after,
        cursor,
        sourceSetsVersion: held?.sourceSets.version ?? null,
      },
      'edge.page',
    );
  }

  async #send(message: EdgeConfirm | EdgeHeartbeat | EdgeDropReport): Promise<void> {
    await request(this.#link, message, 'done');
  }
}
