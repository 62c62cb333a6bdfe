import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Db, Tx } from '../../db/database.ts';
import { loadBlockedSets } from '../../fleet/policies/blocked-sets.ts';

export interface SourceSetLoader {
  /** Loads sets such as `country:DE` and `asn:64496`. */
  readonly loadSourceSets: (names: readonly string[]) => Promise<SourceSets>;
}

/** The source sets of a policy. `generation` null: its lists of blocked sources as accepted. */
export async function loadSetsOf(
  { loadSourceSets }: SourceSetLoader,
  db: Db | Tx,
  { geo, blocked }: Policy,
  generation: number | null,
): Promise<SourceSets> {
  const { version, sets } = await loadSourceSets([...new Set(geo.flatMap((rule) => rule.sets))]);
  const lists = blocked.length === 0 ? {} : await loadBlockedSets(db, blocked, generation);
  return { version, sets: { ...sets, ...lists } };
}
