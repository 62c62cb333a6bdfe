import { request } from '@portcullis/agent/request.ts';
import type {
  EdgeAnswer,
  EdgeConfirm,
  EdgeDropReport,
  EdgeHeartbeat,
  EdgePage,
  EdgeMode,
  EdgeWelcome,
} from '@portcullis/link/messages.ts';
import { PROTOCOL_VERSION } from '@portcullis/link/messages.ts';
import type { AgentSide } from '@portcullis/link/transport.ts';
import { type Desired } from '@portcullis/dataplane/desired.ts';
import { mergePages } from '../reconcile/desired.ts';

/** A sync of more pages than this is no sync; each holds megabytes. */
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
   * All pages of what changed since `after`, merged into what is held; of everything where `after` is 0. What is
   * held then only saves work: equal policies stay the same objects, source sets of one version are not sent.
   * `seen` is shown each page while control makes the next one.
   */
  async sync(
    held: Desired | null,
    after: number,
    seen: (page: EdgePage) => void = () => {},
  ): Promise<Desired> {
    const pages: EdgePage[] = [];
    let coming: Promise<EdgePage> | null = this.#page(held, after, null);
    while (coming !== null) {
      const page: EdgePage = await coming;
      if (page.generation !== (pages[0]?.generation ?? page.generation)) {
        throw new Error('the pages of one sync are of several generations');
      }
      if (pages.length >= MAX_PAGES) throw new Error('a sync does not end');
      pages.push(page);
      coming = page.next === null ? null : this.#page(held, after, page.next);
      // Whoever awaits it hears of its failure.
      coming?.catch(() => {});
      seen(page);
    }
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

  async #tell(message: EdgeConfirm | EdgeHeartbeat | EdgeDropReport | EdgeAnswer): Promise<void> {
    await request(this.#link, message, 'done');
  }
}
