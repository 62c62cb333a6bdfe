import { setTimeout as delay } from 'node:timers/promises';
import { type Coalesced, coalesce } from '@portcullis/link/coalesce.ts';
import type { EdgeChanges } from '@portcullis/link/messages/edge.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Db } from '../../db/database.ts';
import { type EdgeState, loadEdges } from '../edges/store.ts';
import { currentGeneration } from '../generations.ts';
import { storedCidr } from '../policies/assembly.ts';
import { type ContentPage, pageFor, SyncContent } from './content.ts';
import type { LoadSourceSets } from './sync.ts';

export interface AnnouncerOptions {
  readonly db: Db;
  readonly link: ControlSide;
  readonly loadSourceSets: LoadSourceSets;
  readonly failed: (error: unknown) => void;
}

/** Estimated bytes of changes; what is larger is fetched in pages, by each edge when it can take it. */
const CHANGES_BYTES = 256 * 1024;
const RETRY_MS = 500;
/**
 * Between two announcements, for each edge: what is written meanwhile goes together. A thousand edges get one a second, and
 * their confirmations leave control time for its callers.
 */
const PAUSE_PER_EDGE_MS = 1;

interface Read {
  /** The newest one. */
  readonly generation: number;
  readonly changed: Changed | null;
}

/** Everything that generations after `after` changed, before it is reduced to the prefixes of an edge. */
interface Changed {
  readonly after: number;
  readonly generation: number;
  readonly page: ContentPage;
  readonly sourceSetsVersion: string;
}

/**
 * Sends new generations to the edges that this process admitted. It reads once what they changed, for all edges, and all
 * generations that were accepted meanwhile go together. An edge that lacks one of them fetches it by a sync.
 */
export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #sending: Coalesced;
  /** The generation that was sent last; null before the first. */
  #sent: number | null = null;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#sending = coalesce(() => this.#send());
  }

  /** There is a new generation, or there may be one. */
  announce(): void {
    this.#sending.poke();
  }

  stop(): Promise<void> {
    return this.#sending.stop();
  }

  async #send(): Promise<number | null> {
    const { db, link, failed } = this.#options;
    const before = this.#sent;
    try {
      if (before !== null && link.admitted('edge').size === 0) {
        // An edge that is admitted later fetches this much, so the first write after it is no sync of all.
        this.#sent = await currentGeneration(db);
        return null;
      }
      const read = await this.#read(before);
      if (read.generation === before) return null;
      // Only now: an edge that is admitted later fetches what was read here.
      const names = [...link.admitted('edge')];
      // Also read after the changes, as in a sync: prefixes may be newer than the generation, not older.
      const edges = read.changed === null ? [] : await loadEdges(db, names);
      const byName = new Map(edges.map((edge) => [edge.settings.name, edge]));
      for (const name of names) {
        const edge = byName.get(name);
        const isSent = read.changed !== null && edge !== undefined;
        const changes = isSent ? changesFor(edge, read.changed) : null;
        link.notify({ kind: 'edge.changed', edge: name, changes });
      }
      this.#sent = read.generation;
      await delay(names.length * PAUSE_PER_EDGE_MS);
      return null;
    } catch (error) {
      failed(error);
      return RETRY_MS;
    }
  }

  /** The changes are null if they are too much for one message, or if nothing was sent before. */
  async #read(sent: number | null): Promise<Read> {
    const { db, loadSourceSets } = this.#options;
    const after = sent ?? Number.MAX_SAFE_INTEGER;
    const content = await SyncContent.open(db, after, { pageBytes: CHANGES_BYTES });
    try {
      const { generation, whole, setNames, blockedVersion } = content;
      const page = whole || generation === after ? null : await content.next([]);
      if (page?.isLast !== true) return { generation, changed: null };
      const sourceSetsVersion = `${(await loadSourceSets(setNames)).version}${blockedVersion}`;
      return { generation, changed: { after, generation, page, sourceSetsVersion } };
    } finally {
      await content.close();
    }
  }
}

function changesFor({ settings, serves }: EdgeState, changed: Changed): EdgeChanges {
  const { after, generation, page, sourceSetsVersion } = changed;
  const { policies, removed } = pageFor(page, false, serves.map(storedCidr));
  return { after, generation, policies, removed, sourceSetsVersion, settings };
}
