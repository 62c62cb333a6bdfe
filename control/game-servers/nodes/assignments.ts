import { createHash } from 'node:crypto';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import type { Refused } from '@portcullis/link/messages/messages.ts';
import type { NodePage, NodeSync } from '@portcullis/link/messages/node.ts';
import type { Db } from '../../db/database.ts';
import { loadAssignments, loadEggs, loadPurge, type NodeRow } from './store.ts';

type Page = Pick<NodePage, 'servers' | 'eggs'>;

/** Far below the message limit; one server with its egg is never split. */
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Answers a node's sync with the list of its servers in pages of one revision. A revision is a hash of the content, so
 * it is equal on every replica, and each page is cut anew from the present list.
 */
export async function loadPage(
  db: Db,
  node: Pick<NodeRow, 'id'>,
  { cursor, revision: held }: NodeSync,
  pageBytes = PAGE_BYTES,
): Promise<NodePage | Refused> {
  const servers = await loadAssignments(db, node.id);
  const purge = await loadPurge(db, node.id);
  const revision = revisionOf(servers, purge);
  const page = { kind: 'node.page', revision, purge } as const;
  if (cursor === null && revision === held) {
    return { ...page, unchanged: true, servers: [], eggs: {}, next: null };
  }
  const eggs = await loadEggs(db, [...new Set(servers.map(({ egg }) => egg))]);
  const pages = cutPages(servers, eggs, pageBytes);
  const cursors = pages.map((_, index) => `${revision}/${index}`);
  const index = cursor === null ? 0 : cursors.indexOf(cursor);
  const content = pages[index];
  if (content === undefined) {
    const detail = 'The servers of this node changed meanwhile. Begin again.';
    return { kind: 'refused', code: 'resync', detail };
  }
  const next = cursors[index + 1] ?? null;
  return { ...page, unchanged: false, ...content, next };
}

function revisionOf(servers: readonly ServerAssignment[], purge: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify({ servers, purge })).digest('base64url');
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
