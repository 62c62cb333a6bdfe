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
  /** Counts what was announced as confirmed by these edges, where it does not concern them. */
  readonly raise: (edges: readonly string[]) => Promise<void>;
  /** Called with the version of the source sets at a generation. */
  readonly noteSets?: (generation: number, version: string) => void;
  readonly failed: (error: unknown) => void;
}

/** Estimated bytes of changes; what is larger is fetched in pages, by each edge when it can take it. */
const CHANGES_BYTES = 256 * 1024;
const RETRY_MS = 500;
/**
 * Between two announcements, for each edge that was sent something: what is written meanwhile goes together. A thousand edges
 * get one a second, and their confirmations leave control time for its callers.
 */
const PAUSE_PER_EDGE_MS = 1;
/** For each of the others, whose confirmed generations are raised together. */
const PAUSE_PER_OTHER_MS = 0.1;

interface Read {
  /** The newest one. */
  readonly generation: number;
  /** The edges that must confirm it. Null for all. */
  readonly concerned: ReadonlySet<string> | null;
  readonly changed: Changed | null;
}

/** Everything that generations after `after` changed, before it is reduced to the prefixes of an edge. */
interface Changed {
  readonly generation: number;
  readonly page: ContentPage;
  readonly sourceSetsVersion: string;
}

/**
 * Sends new generations to the edges that this process admitted, and that they concern. It reads once what they changed, for
 * all edges, and all generations that were accepted meanwhile go together. An edge that lacks one of them fetches it by a
 * sync. The others need nothing: their confirmed generations are raised.
 */
export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #sending: Coalesced;
  /** The generation that was sent last; null before the first. */
  #sent: number | null = null;
  /** A generation of each edge, after which nothing until `#sent` concerns it: what is sent next fits a state of that. */
  #fits = new Map<string, number>();

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
        this.#fits.clear();
        return null;
      }
      const read = await this.#read(before);
      if (read.generation === before) return null;
      // Only now: an edge that is admitted later fetches what was read here.
      const names = [...link.admitted('edge')];
      const concerned = names.filter((name) => read.concerned?.has(name) ?? true);
      const others = names.filter((name) => read.concerned?.has(name) === false);
      await this.#notify(concerned, before, read);
      await this.#options.raise(others);
      const fits = others.map((name) => [name, this.#fits.get(name) ?? before ?? 0] as const);
      this.#fits = new Map([...fits, ...concerned.map((name) => [name, read.generation] as const)]);
      this.#sent = read.generation;
      await delay(concerned.length * PAUSE_PER_EDGE_MS + others.length * PAUSE_PER_OTHER_MS);
      return null;
    } catch (error) {
      failed(error);
      return RETRY_MS;
    }
  }

  async #notify(names: readonly string[], before: number | null, { changed }: Read): Promise<void> {
    const { db, link } = this.#options;
    // Also read after the changes, as in a sync: prefixes may be newer than the generation, not older.
    const edges = changed === null ? [] : await loadEdges(db, names);
    const byName = new Map(edges.map((edge) => [edge.settings.name, edge]));
    for (const name of names) {
      const edge = byName.get(name);
      const after = this.#fits.get(name) ?? before ?? 0;
      const isSent = changed !== null && edge !== undefined;
      const changes = isSent ? changesFor(edge, after, changed) : null;
      link.notify({ kind: 'edge.changed', edge: name, changes });
    }
  }

  /** The changes are null if they are too much for one message, or if nothing was sent before. */
  async #read(sent: number | null): Promise<Read> {
    const { db, loadSourceSets, noteSets } = this.#options;
    const after = sent ?? Number.MAX_SAFE_INTEGER;
    const content = await SyncContent.open(db, after, { pageBytes: CHANGES_BYTES });
    try {
      const { generation, whole, setNames, blockedVersion } = content;
      if (generation === sent) return { generation, concerned: null, changed: null };
      const sourceSetsVersion = `${(await loadSourceSets(setNames)).version}${blockedVersion}`;
      noteSets?.(generation, sourceSetsVersion);
      const isLater = sent !== null && sent < generation;
      const concerned = isLater ? new Set(await content.loadConcerned(sent)) : null;
      const page = whole ? null : await content.next([]);
      const changed = page?.isLast === true ? { generation, page, sourceSetsVersion } : null;
      return { generation, concerned, changed };
    } finally {
      await content.close();
    }
  }
}

function changesFor({ settings, serves }: EdgeState, after: number, changed: Changed): EdgeChanges {
  const { generation, page, sourceSetsVersion } = changed;
  const { policies, removed } = pageFor(page, false, serves.map(storedCidr));
  return { after, generation, policies, removed, sourceSetsVersion, settings };
}
