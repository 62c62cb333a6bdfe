import { randomUUID } from 'node:crypto';
import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { EdgePage, EdgeSync } from '@portcullis/link/messages/edge.ts';
import type { Refused } from '@portcullis/link/messages/messages.ts';
import { Limiter } from '@portcullis/link/limiter.ts';
import type { Db } from '../../db/database.ts';
import { type EdgeMoment, type EdgeState, loadEdge } from '../edges/store.ts';
import { storedCidr } from '../policies/assembly.ts';
import { type ContentPage, cutSets, pageFor, SyncContent } from './content.ts';

export type LoadSourceSets = (names: readonly string[]) => Promise<SourceSets>;

export interface SyncOptions {
  readonly db: Db;
  readonly loadSourceSets: LoadSourceSets;
  /** Approximate page size in bytes of JSON; a policy is never split. */
  readonly pageBytes?: number;
  /** About as many rules are loaded at once. */
  readonly sliceWeight?: number;
  /** A sync that is not continued for this time is discarded. */
  readonly idleMs?: number;
  /** A sync that cannot begin for this time is refused. */
  readonly waitMs?: number;
}

interface RunningSync {
  readonly id: string;
  readonly instance: string;
  readonly content: SyncContent;
  readonly prefixes: readonly Cidr[];
  /** Parts of the source sets, which the edge joins. They follow the content. */
  readonly sets: readonly SourceSets[];
  /** The last page of the content was read. */
  isRead: boolean;
  setsSent: number;
  /** The last page and its number: its answer may be lost. */
  sent: { readonly number: number; readonly page: EdgePage } | null;
  policies: number;
  usedAtMs: number;
  /** Requests of one edge are answered one after the other. */
  turn: Promise<unknown>;
}

/** A page, and how many policies were sent with it and before. */
export interface SentPage {
  readonly kind: 'sent';
  readonly page: EdgePage;
  readonly policies: number;
}

/** Each page takes its sender and its receiver some milliseconds in which others wait. */
const PAGE_BYTES = 1024 * 1024;
const IDLE_MS = 60_000;
/** Below the timeout of the request. */
const WAIT_MS = 20_000;
/** Each takes a connection of the pool until its edge has everything, and needs another one for a moment. */
const WHOLE_AT_ONCE = 3;
/** The syncs of changes alone, which do not wait for syncs of everything. */
const CHANGES_AT_ONCE = 3;
const NOTHING: ContentPage = { policies: [], removed: [], isLast: false };

/**
 * Sends syncs in pages of one generation. They are read from one snapshot of the database while the edge fetches them, so
 * that a million rules fill no memory.
 */
export class SyncService {
  readonly #options: Required<Omit<SyncOptions, 'sliceWeight'>> & SyncOptions;
  readonly #running = new Map<string, RunningSync>();
  readonly #whole = new Limiter(WHOLE_AT_ONCE);
  readonly #changes = new Limiter(CHANGES_AT_ONCE);
  readonly #stopping = new AbortController();
  /** The version of the source sets at the newest generation that was read. */
  #sets = { generation: -1, version: '' };

  constructor(options: SyncOptions) {
    this.#options = { pageBytes: PAGE_BYTES, idleMs: IDLE_MS, waitMs: WAIT_MS, ...options };
  }

  /** Returns the first page. An edge that needs a whole sync is sent everything, whatever it reports. */
  async begin(now: EdgeMoment, request: EdgeSync): Promise<SentPage | Refused> {
    const { edge } = now;
    this.forget(edge.settings.name);
    if (this.#hasEverything(now, request)) {
      return { kind: 'sent', page: nothingNew(now), policies: 0 };
    }
    const content = await this.#open(edge.needsWholeSync ? 0 : request.after);
    if (content === null) return busy();
    try {
      return await this.#sendFirst(edge, request, content);
    } catch (error) {
      await content.close();
      throw error;
    }
  }

  /** The version of the source sets at a generation: edges that need nothing of it are compared with it. */
  noteSets(generation: number, version: string): void {
    if (generation > this.#sets.generation) this.#sets = { generation, version };
  }

  /** Edges sync on a timer, mostly for nothing: that needs no snapshot. */
  #hasEverything(
    { edge, generation, unchangedUntil }: EdgeMoment,
    { after, sourceSetsVersion }: EdgeSync,
  ): boolean {
    return (
      !edge.needsWholeSync &&
      after > 0 &&
      unchangedUntil === generation &&
      this.#sets.generation === generation &&
      this.#sets.version === sourceSetsVersion
    );
  }

  /** Null if others take too long, or control stops. */
  async #open(after: number): Promise<SyncContent | null> {
    const { db, waitMs } = this.#options;
    const opened = Promise.withResolvers<SyncContent | null>();
    const { signal: stopping } = this.#stopping;
    const impatient = AbortSignal.any([stopping, AbortSignal.timeout(waitMs)]);
    const limiter = after === 0 ? this.#whole : this.#changes;
    const running = limiter.run(async () => {
      const content = await SyncContent.open(db, after, this.#options);
      opened.resolve(content);
      await content.closed;
    }, impatient);
    running.catch((error: unknown) => {
      if (impatient.aborted && error === impatient.reason) opened.resolve(null);
      else opened.reject(error);
    });
    return opened.promise;
  }

  async #sendFirst(
    known: EdgeState,
    request: EdgeSync,
    content: SyncContent,
  ): Promise<SentPage | Refused> {
    const { name } = known.settings;
    // Read after the content: prefixes newer than the generation are fine, because the next generation names what
    // the edge gained. Older ones would let it confirm a change of its prefixes without their policies.
    const edge = (await loadEdge(this.#options.db, name)) ?? known;
    const sets = await this.#setsUnlessCurrent(content, request.sourceSetsVersion);
    const sync: RunningSync = {
      id: randomUUID(),
      instance: request.instance,
      content,
      prefixes: edge.serves.map(storedCidr),
      sets: cutSets(sets, this.#options.pageBytes),
      isRead: false,
      setsSent: 0,
      sent: null,
      policies: 0,
      usedAtMs: Date.now(),
      turn: Promise.resolve(),
    };
    this.forget(name);
    this.#running.set(name, sync);
    return this.#send(edge, sync, 0);
  }

  /** Returns a later page, again if its answer was lost. */
  async next(edge: EdgeState, request: EdgeSync, cursor: string): Promise<SentPage | Refused> {
    const sync = this.#running.get(edge.settings.name);
    const [id, number, ...rest] = cursor.split('/');
    const known =
      sync !== undefined &&
      sync.id === id &&
      sync.instance === request.instance &&
      rest.length === 0;
    if (!known) return lost();
    sync.usedAtMs = Date.now();
    const sent = sync.turn.then(() => this.#send(edge, sync, Number(number)));
    sync.turn = sent.catch(() => {});
    return sent;
  }

  /** Discards the sync of an edge. */
  forget(name: string): void {
    const sync = this.#running.get(name);
    this.#running.delete(name);
    void sync?.content.close();
  }

  /** Discards syncs that are not continued. */
  sweep(): void {
    const before = Date.now() - this.#options.idleMs;
    for (const [name, sync] of this.#running) {
      if (sync.usedAtMs < before) this.forget(name);
    }
  }

  /** Discards every sync, and with it the connections that they hold, and begins no other. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const contents = [...this.#running.values()].map(({ content }) => content);
    this.#running.clear();
    await Promise.all(contents.map((content) => content.close()));
  }

  async #setsUnlessCurrent(
    content: SyncContent,
    current: string | null,
  ): Promise<SourceSets | null> {
    const geo = await this.#options.loadSourceSets(content.setNames);
    // The version names the data and the sets, so an edge that lacks a set has another version.
    const version = `${geo.version}${content.blockedVersion}`;
    this.noteSets(content.generation, version);
    if (version === current) return null;
    return { version, sets: { ...geo.sets, ...(await content.loadBlockedSets()) } };
  }

  /** The page of this number: the next one, or the last one again. */
  async #send(edge: EdgeState, sync: RunningSync, number: number): Promise<SentPage | Refused> {
    const { sent, content } = sync;
    if (sent?.number === number) return { kind: 'sent', page: sent.page, policies: sync.policies };
    if (number !== (sent?.number ?? -1) + 1 || sent?.page.next === null) return lost();
    const found = await readContent(sync);
    if (found === null) return lost();
    const sourceSets = found === NOTHING ? (sync.sets[sync.setsSent++] ?? null) : null;
    const isLast = sync.isRead && sync.setsSent >= sync.sets.length;
    sync.policies += found.policies.length;
    const page: EdgePage = {
      kind: 'edge.page',
      generation: content.generation,
      whole: content.whole,
      policies: found.policies,
      removed: found.removed,
      sourceSets,
      settings: edge.settings,
      next: isLast ? null : `${sync.id}/${number + 1}`,
    };
    sync.sent = { number, page };
    return { kind: 'sent', page, policies: sync.policies };
  }
}

/**
 * The next page that has something for the edge, or the last one; `NOTHING` after it. Null if the snapshot has ended.
 */
async function readContent(sync: RunningSync): Promise<ContentPage | null> {
  while (!sync.isRead) {
    const page = await sync.content.next(sync.prefixes);
    if (page === null) return null;
    sync.isRead = page.isLast;
    const found = pageFor(page, sync.content.whole, sync.prefixes);
    if (found.isLast || found.policies.length + found.removed.length > 0) return found;
  }
  return NOTHING;
}

function nothingNew({ edge, generation }: EdgeMoment): EdgePage {
  return {
    kind: 'edge.page',
    generation,
    whole: false,
    policies: [],
    removed: [],
    sourceSets: null,
    settings: edge.settings,
    next: null,
  };
}

function lost(): Refused {
  return {
    kind: 'refused',
    code: 'resync',
    detail:
      'This sync is not known here any more (control restarted, or it took too long). Start again.',
  };
}

function busy(): Refused {
  const detail = 'Control sends everything to other edges at the moment, or stops. Ask again.';
  return { kind: 'refused', code: 'unavailable', detail };
}
