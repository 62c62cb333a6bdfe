import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import type { Batch } from '../../fleet/batch.ts';
import { Problem } from '../../problem.ts';
import { requireTarget } from '../groups/service.ts';
import {
  assignGeoRule,
  canonicalGeo,
  createGeoRule,
  deleteGeoRule,
  type GeoContent,
  unassignGeoRule,
} from './service.ts';

export interface GeoRuleView extends GeoContent {
  readonly id: number;
  readonly owner: Owner;
  /** Addresses without their length. */
  readonly targets: readonly string[];
  readonly createdAt: Date;
}

/** The geo rules of an organisation and where they are; one of them with an id. */
export async function listGeoRules(
  db: Db | Tx,
  organisationId: number,
  id: number | null = null,
): Promise<GeoRuleView[]> {
  const { rows } = await sql<GeoRuleView>`
    select r.id, r.action, r.countries, r.asns, r.owner, r.created_at as "createdAt",
           array(select abbrev(a.target::inet) from geo_assignments a join holdings h on h.id = a.holding_id
                  where a.geo_rule_id = r.id and a.deleted_generation is null and h.during @> now()
                  order by a.target) as targets
      from geo_rules r
     where r.organisation_id = ${organisationId} and r.deleted_generation is null
       and (${id}::bigint is null or r.id = ${id}::bigint)
     order by r.id`.execute(db);
  return rows;
}

/** 404 for a geo rule of another organisation, as for none. */
export async function findGeoRule(
  tx: Tx,
  organisationId: number,
  id: number,
): Promise<GeoRuleView> {
  const [rule] = await listGeoRules(tx, organisationId, id);
  if (rule === undefined) throw new Problem('not_found', `There is no geo rule ${id}.`);
  return rule;
}

/**
 * Creates a geo rule, or makes an existing one as wanted, and returns its id. Rules of older generations do not change,
 * so one with other content is a new rule.
 */
export async function saveGeoRule(
  batch: Batch,
  organisationId: number,
  id: number | null,
  wanted: GeoContent & { readonly targets: readonly string[] },
): Promise<number> {
  const targets = [...new Set(wanted.targets.map(requireTarget))];
  if (id === null) return createAssigned(batch, organisationId, wanted, targets);
  const there = await findGeoRule(batch.tx, organisationId, id);
  batch.requireOwn(there.owner, `The geo rule ${id}`);
  if (!isSame(there, canonicalGeo(wanted))) {
    await deleteGeoRule(batch, id);
    return createAssigned(batch, organisationId, wanted, targets);
  }
  const known = there.targets.map(requireTarget);
  for (const target of known.filter((one) => !targets.includes(one))) {
    await unassignGeoRule(batch, id, target);
  }
  for (const target of targets.filter((one) => !known.includes(one))) {
    await assignGeoRule(batch, id, target);
  }
  return id;
}

async function createAssigned(
  batch: Batch,
  organisationId: number,
  content: GeoContent,
  targets: readonly string[],
): Promise<number> {
  const id = await createGeoRule(batch, organisationId, content);
  for (const target of targets) await assignGeoRule(batch, id, target);
  return id;
}

function isSame(a: GeoContent, b: GeoContent): boolean {
  return (
    a.action === b.action &&
    a.countries.join() === b.countries.join() &&
    a.asns.join() === b.asns.join()
  );
}
