import { randomUUID } from 'node:crypto';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { EdgePage, EdgeSync } from '@portcullis/link/messages/edge.ts';
import type { Refused } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';
import { currentGeneration } from '../generations.ts';
import { type EdgeState, loadEdge } from '../edges/store.ts';
import { contentFor, loadSyncContent, type SyncContent } from './content.ts';

export type LoadSourceSets = (names: readonly string[]) => Promise<SourceSets>;

export interface SyncOptions {
  readonly db: Db;
  readonly loadSourceSets: LoadSourceSets;
  /** Approximate page size in bytes of JSON; a policy is never split. */
  readonly pageBytes?: number;
  /** A sync that is not continued for this time is discarded. */
  readonly idleMs?: number;
}

interface Page {
  readonly policies: readonly Policy[];
  readonly removed: readonly string[];
  /** A part of the source sets, which the edge joins. */
  readonly sourceSets: SourceSets | null;
}
interface RunningSync {
  readonly id: string;
  readonly instance: string;
  readonly content: SyncContent;
  readonly pages: readonly Page[];
  usedAtMs: number;
}
interface StartedSync {
  readonly page: EdgePage;
  readonly policies: number;
}

/** Far below the largest message of a transport. */
const PAGE_BYTES = 4 * 1024 * 1024;
const IDLE_MS = 60_000;

/**
 * Splits syncs into pages of one generation. The content is kept from the first page on, so that later pages do not
 * see later writes. Edges that sync whole at one generation share it.
 */
export class SyncService {
  readonly #options: Required<SyncOptions>;
  readonly #running = new Map<string, RunningSync>();
  #whole: Promise<SyncContent> | null = null;
  #wholeUsedAtMs = 0;

  constructor(options: SyncOptions) {
    this.#options = { pageBytes: PAGE_BYTES, idleMs: IDLE_MS, ...options };
  }

  /** Returns the first page. With `fromNothing` it sends everything, whatever the edge reports. */
  async begin(known: EdgeState, request: EdgeSync, fromNothing: boolean): Promise<StartedSync> {
    const { db, pageBytes } = this.#options;
    const loaded = await this.#load(fromNothing ? 0 : request.after);
    // Read after the content: prefixes newer than the generation are fine, because the next generation names what
    // the edge gained. Older ones would let it confirm a change of its prefixes without their policies.
    const edge = (await loadEdge(db, known.settings.name)) ?? known;
    const content = contentFor(loaded, edge.serves);
    const sets = await this.#setsUnlessCurrent(content, request.sourceSetsVersion);
    const sync: RunningSync = {
      id: randomUUID(),
      instance: request.instance,
      content,
      pages: [...cutPages(content, pageBytes), ...cutSets(sets, pageBytes)],
      usedAtMs: Date.now(),
    };
    this.#running.set(edge.settings.name, sync);
    return { page: pageOf(edge, sync, 0), policies: content.policies.length };
  }

  /** Returns a later page, again if its answer was lost. */
  next(edge: EdgeState, request: EdgeSync, cursor: string): EdgePage | Refused {
    const sync = this.#running.get(edge.settings.name);
    const [id, number, ...rest] = cursor.split('/');
    const index = Number(number);
    const known =
      sync !== undefined &&
      sync.id === id &&
      sync.instance === request.instance &&
      rest.length === 0;
    if (!known || !Number.isInteger(index) || index < 1 || index >= sync.pages.length) {
      return {
        kind: 'refused',
        code: 'resync',
        detail:
          'This sync is not known here any more (control restarted, or it took too long). Start again.',
      };
    }
    sync.usedAtMs = Date.now();
    return pageOf(edge, sync, index);
  }

  /** Discards the sync of an edge. */
  forget(name: string): void {
    this.#running.delete(name);
  }

  /** Discards syncs that are not continued. */
  sweep(): void {
    const before = Date.now() - this.#options.idleMs;
    for (const [name, sync] of this.#running) {
      if (sync.usedAtMs < before) this.#running.delete(name);
    }
    if (this.#wholeUsedAtMs < before) this.#whole = null;
  }

  async #load(after: number): Promise<SyncContent> {
    if (after > 0) return loadSyncContent(this.#options.db, after);
    // A fleet that restarts requests the same content at once; it is loaded once per generation.
    const wanted = await currentGeneration(this.#options.db);
    const shared = await this.#whole?.catch(() => null);
    this.#wholeUsedAtMs = Date.now();
    if (shared?.generation === wanted) return shared;
    const loading = loadSyncContent(this.#options.db, 0);
    this.#whole = loading;
    return loading;
  }

  async #setsUnlessCurrent(
    content: SyncContent,
    current: string | null,
  ): Promise<SourceSets | null> {
    const sets = await this.#options.loadSourceSets(content.setNames);
    // The version names the data and the sets, so an edge that lacks a set has another version.
    return sets.version === current ? null : sets;
  }
}

function pageOf(edge: EdgeState, { id, content, pages }: RunningSync, index: number): EdgePage {
  const page = pages[index] ?? { policies: [], removed: [], sourceSets: null };
  return {
    kind: 'edge.page',
    generation: content.generation,
    whole: content.whole,
    ...page,
    settings: edge.settings,
    next: index < pages.length - 1 ? `${id}/${index + 1}` : null,
  };
}

/** Splits sets, because all countries exceed a message and one alone can exceed a page. */
function cutSets(sourceSets: SourceSets | null, pageBytes: number): Page[] {
  if (sourceSets === null) return [];
  const { version } = sourceSets;
  const pages: Page[] = [];
  let sets: Record<string, string[]> = {};
  let bytes = 0;
  const cut = (): void => {
    pages.push({ policies: [], removed: [], sourceSets: { version, sets } });
    sets = {};
    bytes = 0;
  };
  for (const [name, networks] of Object.entries(sourceSets.sets)) {
    let part: string[] = [];
    sets[name] = part;
    bytes += name.length + 6;
    for (const network of networks) {
      if (bytes >= pageBytes) {
        cut();
        part = [];
        sets[name] = part;
      }
      part.push(network);
      bytes += network.length + 3;
    }
  }
  cut();
  return pages;
}

function cutPages(content: SyncContent, pageBytes: number): Page[] {
  const pages: Page[] = [];
  let policies: Policy[] = [];
  let removed: string[] = [];
  let bytes = 0;
  const cutWhenFull = (): void => {
    if (bytes < pageBytes) return;
    pages.push({ policies, removed, sourceSets: null });
    policies = [];
    removed = [];
    bytes = 0;
  };
  for (const policy of content.policies) {
    policies.push(policy);
    bytes += estimateBytes(policy);
    cutWhenFull();
  }
  for (const target of content.removed) {
    removed.push(target);
    bytes += target.length + 3;
    cutWhenFull();
  }
  if (bytes > 0 || pages.length === 0) pages.push({ policies, removed, sourceSets: null });
  return pages;
}

/** A close upper estimate of the JSON size; measuring it would cost as much as sending it. */
function estimateBytes(policy: Policy): number {
  const rules = policy.rules.length + policy.baseline.length;
  const sets = policy.geo.reduce((sum, rule) => sum + rule.sets.length, 0);
  const overlays = [...policy.mitigations, ...policy.filters];
  const safelisted = overlays.reduce((sum, { safelist }) => sum + safelist.length, 0);
  const others = 300 * policy.mitigations.length + 120 * policy.filters.length + 46 * safelisted;
  return 160 + 140 * rules + others + 60 * policy.geo.length + 16 * sets;
}
