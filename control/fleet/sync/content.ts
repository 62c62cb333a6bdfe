import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { type LoadedPolicies, readMoment, streamPolicies } from '../policies/policies.ts';
import { type ControlledTransaction, sql } from 'kysely';
import { type Cidr, overlaps } from '@portcullis/core/net/cidr.ts';
import { withPreviousNames } from '@portcullis/link/messages/policy.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/generated/tables.ts';
import { loadConcerned } from '../edges/store.ts';
import { storedCidr } from '../policies/assembly.ts';
import { loadBlockedSets, readBlockedVersion } from '../policies/blocked-sets.ts';

/** A page of a content; its source sets are those of an edge. */
export interface ContentPage extends LoadedPolicies {
  readonly isLast: boolean;
}

/** Cuts parts into pages. There is one at least, and the last one says that it is. */
async function* cutPages(
  parts: AsyncIterable<LoadedPolicies>,
  pageBytes: number,
): AsyncGenerator<ContentPage, void> {
  let policies: Policy[] = [];
  let removed: string[] = [];
  let bytes = 0;
  const take = (isLast: boolean): ContentPage => {
    const page = { policies, removed, isLast };
    policies = [];
    removed = [];
    bytes = 0;
    return page;
  };
  for await (const part of parts) {
    for (const policy of part.policies) {
      if (bytes >= pageBytes) yield take(false);
      policies.push(policy);
      bytes += estimateBytes(policy);
    }
    for (const target of part.removed) {
      if (bytes >= pageBytes) yield take(false);
      removed.push(target);
      bytes += target.length + 3;
    }
  }
  yield take(true);
}

/** Splits sets, because all countries exceed a message and one alone can exceed a page. */
export function cutSets(sourceSets: SourceSets | null, pageBytes: number): SourceSets[] {
  if (sourceSets === null) return [];
  const { version } = sourceSets;
  const pages: SourceSets[] = [];
  let sets: Record<string, string[]> = {};
  let bytes = 0;
  const cut = (): void => {
    pages.push({ version, sets });
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

/** A close upper estimate of the JSON size; measuring it would cost as much as sending it. */
function estimateBytes(policy: Policy): number {
  const rules = policy.rules.length + policy.baseline.length;
  const sets = policy.geo.reduce((sum, rule) => sum + rule.sets.length, policy.blocked.length);
  const overlays = [...policy.mitigations, ...policy.filters];
  const safelisted = overlays.reduce((sum, { safelist }) => sum + safelist.length, 0);
  const others = 300 * policy.mitigations.length + 120 * policy.filters.length + 46 * safelisted;
  return 160 + 140 * rules + others + 60 * policy.geo.length + 16 * sets;
}

/** Beyond this number of changed targets, sending everything is cheaper. */
const MAX_CHANGED_TARGETS = 10_000;

interface ContentOptions {
  readonly pageBytes: number;
  readonly sliceWeight?: number | undefined;
}

/**
 * The content of a sync, before it is reduced to an edge's prefixes: pages of one snapshot, read from the database as they
 * are requested, so that only one of them is in memory.
 */
export class SyncContent {
  readonly generation: number;
  readonly whole: boolean;
  /** Names of every source set of geo rules in the fleet, sorted. */
  readonly setNames: readonly string[];
  /** Changes with any list of blocked sources. */
  readonly blockedVersion: string;
  readonly #tx: ControlledTransaction<Schema>;
  readonly #read: (networks: readonly Cidr[]) => AsyncGenerator<ContentPage, void>;
  /** Null before the first page is read. */
  #pages: AsyncGenerator<ContentPage, void> | null = null;
  readonly #closed = Promise.withResolvers<void>();
  #isOpen = true;

  private constructor(tx: ControlledTransaction<Schema>, begun: Begun, options: ContentOptions) {
    const { generation, changed, setNames, blockedVersion } = begun;
    this.generation = generation;
    this.whole = changed === null;
    this.setNames = setNames;
    this.blockedVersion = blockedVersion;
    this.#tx = tx;
    const { pageBytes, sliceWeight } = options;
    this.#read = (networks) =>
      cutPages(streamPolicies(tx, changed ?? 'all', { sliceWeight, networks }), pageBytes);
  }

  /**
   * Opens what changed after a generation; everything after 0, after a generation whose changes are no longer stored,
   * and after one that was never accepted here.
   */
  static async open(db: Db, after: number, options: ContentOptions): Promise<SyncContent> {
    const tx = await db
      .startTransaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute();
    try {
      return new SyncContent(tx, await begin(tx, after), options);
    } catch (error) {
      await rollback(tx);
      throw error;
    }
  }

  /** Resolves when its connection to the database is free again. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Names of the edges that something after a generation concerns, as they were then; only before the first page is read. */
  loadConcerned(after: number): Promise<string[]> {
    return loadConcerned(this.#tx, after);
  }

  /** The lists of blocked sources; only before the first page is read. */
  loadBlockedSets(): Promise<Readonly<Record<string, readonly string[]>>> {
    return loadBlockedSets(this.#tx, null, null);
  }

  /**
   * The next page. The last one, and a failure, end the snapshot; null after that. The first call decides of which
   * networks everything is read; changes are read of all.
   */
  async next(networks: readonly Cidr[]): Promise<ContentPage | null> {
    try {
      this.#pages ??= this.#read(networks);
      const { value } = await this.#pages.next();
      if (value === undefined) return null;
      if (value.isLast) await this.close();
      return value;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Ends the snapshot. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // A generator ends where it waits, so after the statement under way.
    await this.#pages?.return().catch(() => {});
    await rollback(this.#tx);
    this.#closed.resolve();
  }
}

interface Begun {
  readonly generation: number;
  /** Null for everything. */
  readonly changed: readonly string[] | null;
  readonly setNames: readonly string[];
  readonly blockedVersion: string;
}

async function begin(tx: Tx, after: number): Promise<Begun> {
  const { generation } = await readMoment(tx);
  const setNames = await loadSetNames(tx);
  const changed = after > 0 ? await loadChanged(tx, after, generation) : null;
  return { generation, changed, setNames, blockedVersion: await readBlockedVersion(tx) };
}

async function rollback(tx: ControlledTransaction<Schema>): Promise<void> {
  // A broken connection has ended it.
  await tx
    .rollback()
    .execute()
    .catch(() => {});
}

/** Targets that generations after `after` may have changed. Returns null when a whole sync is needed. */
async function loadChanged(tx: Tx, after: number, generation: number): Promise<string[] | null> {
  if (after === generation) return [];
  if (after > generation) return null;
  const { rows: kept } = await sql<{ oldest: number | null }>`
    select min(generation) as oldest from generations`.execute(tx);
  const oldest = kept[0]?.oldest ?? null;
  if (oldest === null || after < oldest - 1) return null;
  const { rows } = await sql<{ target: string }>`
    select distinct target from changes where generation > ${after}
     limit ${MAX_CHANGED_TARGETS + 1}`.execute(tx);
  return rows.length > MAX_CHANGED_TARGETS ? null : rows.map((row) => row.target);
}

async function loadSetNames(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    with used as (
      select g.countries, g.asns from geo_rules g
       where g.deleted_generation is null
         and exists (select from geo_assignments a
                      where a.geo_rule_id = g.id and a.deleted_generation is null))
    select 'country:' || unnest(countries) as name from used
    union select 'asn:' || unnest(asns) from used`.execute(tx);
  return rows.map((row) => row.name).toSorted();
}

/** The part of a page that an edge with these prefixes needs. */
export function pageFor(page: ContentPage, whole: boolean, prefixes: readonly Cidr[]): ContentPage {
  if (servesAll(prefixes)) return { ...page, policies: page.policies.map(withPreviousNames) };
  const policies: Policy[] = [];
  const removed = [...page.removed];
  for (const policy of page.policies) {
    const target = storedCidr(policy.target);
    if (prefixes.some((prefix) => overlaps(prefix, target))) policies.push(policy);
    // The edge may have served this before its prefixes were narrowed.
    else if (!whole) removed.push(policy.target);
  }
  return { ...page, policies: policies.map(withPreviousNames), removed };
}

function servesAll(prefixes: readonly Cidr[]): boolean {
  return ([4, 6] as const).every((family) =>
    prefixes.some((prefix) => prefix.family === family && prefix.length === 0),
  );
}
