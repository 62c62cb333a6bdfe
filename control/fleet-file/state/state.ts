import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import type { FilterContent, RuleContent } from '@portcullis/core/firewall/rules/content.ts';
import { marksAsJson, type StoredMarks, withDates } from '../../firewall/groups/index.ts';
import {
  type DeclaredObjects,
  type Elsewhere,
  loadElsewhere,
  loadNow,
  loadObjects,
  type StoredObjects,
} from '../../operator/index.ts';

/** The database's rows of everything that a fleet file can name, including those of the portal. */
export interface FleetState {
  /** The time of the plan. */
  readonly now: Date;
  /** The objects of every kind of `control/operator`. */
  readonly objects: StoredObjects;
  /** Losses of others by saving the objects of the file. */
  readonly elsewhere: Elsewhere;
  /** Groups that are not deleted. */
  readonly groups: readonly CurrentGroup[];
  readonly geoRules: readonly CurrentGeoRule[];
  readonly blocked: readonly CurrentBlocked[];
}

/** A blocked source. Without a target, of everything that the organisation holds. */
export interface CurrentBlocked {
  readonly organisationId: number;
  readonly holdingId: number | null;
  readonly target: string | null;
  readonly source: string;
  readonly note: string;
  readonly owner: Owner;
}

export interface CurrentAssignment {
  readonly id: number;
  readonly holdingId: number;
  readonly target: string;
}
export interface CurrentGroup {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  readonly owner: Owner;
  readonly rules: readonly (RuleContent & StoredMarks)[];
  readonly filters: readonly (FilterContent & StoredMarks)[];
  readonly assignments: readonly CurrentAssignment[];
}
export interface CurrentGeoRule {
  readonly id: number;
  readonly organisationId: number;
  readonly owner: Owner;
  readonly action: 'deny' | 'only';
  readonly countries: readonly string[];
  readonly asns: readonly number[];
  readonly assignments: readonly CurrentAssignment[];
}
/** `declared`: the objects of the file. */
export async function loadFleetState(
  db: Db | Tx,
  declared: DeclaredObjects<unknown>,
): Promise<FleetState> {
  return {
    now: await loadNow(db),
    objects: await loadObjects(db),
    elsewhere: await loadElsewhere(db, declared),
    groups: await loadGroups(db),
    geoRules: await loadGeoRules(db),
    blocked: await rowsOf(
      sql<CurrentBlocked>`
        select organisation_id as "organisationId", holding_id as "holdingId", target, source, note, owner
          from blocked_sources where deleted_generation is null order by id`,
      db,
    ),
  };
}

async function rowsOf<T>(query: ReturnType<typeof sql<T>>, db: Db | Tx): Promise<T[]> {
  return (await query.execute(db)).rows;
}

async function loadGroups(db: Db | Tx): Promise<CurrentGroup[]> {
  const rows = await rowsOf(
    sql<CurrentGroup>`
      select g.id, g.organisation_id as "organisationId", g.name, g.owner,
             coalesce((select json_agg(json_build_object('id', r.id, 'action', r.action,
                         'protocol', r.protocol, 'source', abbrev(r.source::inet), 'port', r.port,
                         'namedPort', case when r.port_server is not null then json_build_object(
                           'server', r.port_server, 'name', r.port_name) end, ${marksAsJson('r')}) order by r.id)
                from group_rules r where r.group_id = g.id and r.deleted_generation is null), '[]') as rules,
             coalesce((select json_agg(json_build_object('id', f.id, 'type', f.type, 'port', f.port,
                         ${marksAsJson('f')})
                         order by f.id)
                from group_filters f
               where f.group_id = g.id and f.deleted_generation is null), '[]') as filters,
             coalesce((select json_agg(json_build_object('id', a.id, 'holdingId', a.holding_id,
                         'target', a.target) order by a.id)
                from group_assignments a
               where a.group_id = g.id and a.deleted_generation is null), '[]') as assignments
        from groups g where g.deleted_at is null order by g.id`,
    db,
  );
  return rows.map(withDates);
}

async function loadGeoRules(db: Db | Tx): Promise<CurrentGeoRule[]> {
  return rowsOf(
    sql<CurrentGeoRule>`
      select g.id, g.organisation_id as "organisationId", g.owner, g.action, g.countries, g.asns,
             coalesce((select json_agg(json_build_object('id', a.id, 'holdingId', a.holding_id,
                         'target', a.target) order by a.id)
                from geo_assignments a
               where a.geo_rule_id = g.id and a.deleted_generation is null), '[]') as assignments
        from geo_rules g where g.deleted_generation is null order by g.id`,
    db,
  );
}
