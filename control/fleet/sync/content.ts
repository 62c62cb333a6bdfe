import { sql } from 'kysely';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type Cidr, overlaps } from '@portcullis/core/net/cidr.ts';
import type { Db, Tx } from '../../db/database.ts';
import { inSnapshot, loadPolicies, readMoment } from '../policies/policies.ts';
import { storedCidr } from '../policies/assembly.ts';

/** The content of a sync, before it is reduced to an edge's prefixes and split into pages. */
export interface SyncContent {
  readonly generation: number;
  readonly whole: boolean;
  readonly policies: readonly Policy[];
  readonly removed: readonly string[];
  /** Names of every source set that policies of the fleet use, sorted. */
  readonly setNames: readonly string[];
}

/** Beyond this number of changed targets, sending everything is cheaper. */
const MAX_CHANGED_TARGETS = 10_000;

/**
 * Loads what changed after a generation. Loads everything after 0, after a generation whose changes are no longer
 * stored, and after one that was never accepted here.
 */
export async function loadSyncContent(db: Db, after: number): Promise<SyncContent> {
  return inSnapshot(db, async (tx) => {
    const { generation } = await readMoment(tx);
    const setNames = await loadSetNames(tx);
    const changed = after > 0 ? await loadChanged(tx, after, generation) : null;
    if (changed === null) {
      const { policies } = await loadPolicies(tx, 'all');
      return { generation, whole: true, policies, removed: [], setNames };
    }
    const { policies, removed } = await loadPolicies(tx, changed);
    return { generation, whole: false, policies, removed, setNames };
  });
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

/** The part of the content that an edge with these prefixes needs. */
export function contentFor(content: SyncContent, serves: readonly string[]): SyncContent {
  const prefixes = serves.map(storedCidr);
  if (servesAll(prefixes)) return content;
  const policies: Policy[] = [];
  const removed = [...content.removed];
  for (const policy of content.policies) {
    const target = storedCidr(policy.target);
    if (prefixes.some((prefix) => overlaps(prefix, target))) policies.push(policy);
    // The edge may have served this before its prefixes were narrowed.
    else if (!content.whole) removed.push(policy.target);
  }
  return { ...content, policies, removed };
}

function servesAll(prefixes: readonly Cidr[]): boolean {
  return ([4, 6] as const).every((family) =>
    prefixes.some((prefix) => prefix.family === family && prefix.length === 0),
  );
}
