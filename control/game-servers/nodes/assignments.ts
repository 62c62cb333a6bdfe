import { createHash } from 'node:crypto';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import type { Refused } from '@portcullis/link/messages/messages.ts';
import type { NodePage, NodeSync } from '@portcullis/link/messages/node.ts';
import type { Db } from '../../db/database.ts';
import { loadAssignments, loadEggs, type NodeRow } from './store.ts';

type Page = Pick<NodePage, 'servers' | 'eggs'>;

/** Far below the message limit; one server with its egg is never split. */
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Answers a node's sync with the list of its servers in pages of one revision. A revision is a hash of the content, so
 * it is equal on every replica.
 */
export class AssignmentPages {
  readonly #db: Db;
  readonly #pageBytes: number;
  /** Lists of several pages that nodes are fetching. */
  readonly #running = new Map<
    string,
    { readonly revision: string; readonly pages: readonly Page[] }
  >();

  constructor(db: Db, pageBytes = PAGE_BYTES) {
    this.#db = db;
    this.#pageBytes = pageBytes;
  }

  async page(node: NodeRow, { cursor, revision: held }: NodeSync): Promise<NodePage | Refused> {
    if (cursor !== null) return this.#next(node.name, cursor);
    this.#running.delete(node.name);
    const servers = await loadAssignments(this.#db, node.id);
    const revision = revisionOf(servers);
    if (revision === held) {
      return { kind: 'node.page', revision, unchanged: true, servers: [], eggs: {}, next: null };
    }
    const eggs = await loadEggs(this.#db, [...new Set(servers.map(({ egg }) => egg))]);
    const pages = cutPages(servers, eggs, this.#pageBytes);
    if (pages.length > 1) this.#running.set(node.name, { revision, pages });
    return pageOf(revision, pages, 0);
  }

  #next(name: string, cursor: string): NodePage | Refused {
    const running = this.#running.get(name);
    const [revision, number, ...rest] = cursor.split('/');
    const index = Number(number);
    const known = running !== undefined && running.revision === revision && rest.length === 0;
    if (!known || !Number.isInteger(index) || index < 1 || index >= running.pages.length) {
      const detail =
        'This list is not known here any more (control restarted, or it changed). Begin again.';
      return { kind: 'refused', code: 'resync', detail };
    }
    return pageOf(running.revision, running.pages, index);
  }

  /** Drops the list of a disconnected node. */
  forget(name: string): void {
    this.#running.delete(name);
  }
}

function pageOf(revision: string, pages: readonly Page[], index: number): NodePage {
  const page = pages[index] ?? { servers: [], eggs: {} };
  const next = index < pages.length - 1 ? `${revision}/${index + 1}` : null;
  return { kind: 'node.page', revision, unchanged: false, ...page, next };
}

function revisionOf(servers: readonly ServerAssignment[]): string {
  return createHash('sha256').update(JSON.stringify(servers)).digest('base64url');
}

function cutPages(
  servers: readonly ServerAssignment[],
  eggs: ReadonlyMap<string, string>,
  pageBytes: number,
): Page[] {
  const pages: Page[] = [];
  const carried = new Set<string>();
  let page = { servers: [] as ServerAssignment[], eggs: {} as Record<string, Egg> };
  let bytes = 0;
  for (const server of servers) {
    const egg = carried.has(server.egg) ? '' : (eggs.get(server.egg) ?? '');
    const size = Buffer.byteLength(JSON.stringify(server)) + Buffer.byteLength(egg);
    if (bytes > 0 && bytes + size > pageBytes) {
      pages.push(page);
      page = { servers: [], eggs: {} };
      bytes = 0;
    }
    bytes += size;
    page.servers.push(server);
    if (egg === '') continue;
    carried.add(server.egg);
    page.eggs[server.egg] = JSON.parse(egg) as Egg;
  }
  return [...pages, page];
}
