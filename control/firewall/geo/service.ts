import { sql } from 'kysely';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { parseCountry } from '@portcullis/core/net/countries.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import type { Owner } from '../../db/schema.ts';
import { type Batch, UNSTAMPED } from '../../fleet/batch.ts';
import { Problem } from '../../problem.ts';
import { requireConfiguredLimit } from '../writes/configured.ts';
import { findAssignableHolding, lockHoldings } from '../groups/holdings.ts';
import { requireTarget } from '../groups/service.ts';

/**
 * Geo rules: `deny` drops the union of the listed countries and ASNs, `only` drops everything outside it.
 * As with groups, the functions write in a given batch and throw a `Problem`.
 */
export interface GeoContent {
  readonly action: 'deny' | 'only';
  /** ISO 3166-1 alpha-2, capitals. */
  readonly countries: readonly string[];
  readonly asns: readonly number[];
}

/** Keeps a policy and its source sets within the capacity of an edge. */
const MAX_NAMES = 1000;
const MAX_ASN = 4294967295;

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
  const there = id === null ? null : await findGeoRule(batch.tx, organisationId, id);
  if (there !== null && isSame(there, canonicalGeo(wanted))) {
    await requireGeoRule(batch, there.id);
    await moveTo(batch, there, targets);
    return there.id;
  }
  if (there !== null) await deleteGeoRule(batch, there.id);
  const created = await createGeoRule(batch, organisationId, wanted);
  await assignGeoRule(batch, created, targets);
  return created;
}

async function moveTo(
  batch: Batch,
  { id, targets: known }: GeoRuleView,
  targets: readonly string[],
): Promise<void> {
  const assigned = await loadAssigned(batch, id);
  await unassignGeoRules(
    batch,
    assigned.filter(({ target }) => !targets.includes(target)),
  );
  const there = new Set(known.map(requireTarget));
  await assignGeoRule(
    batch,
    id,
    targets.filter((target) => !there.has(target)),
  );
}

/** Takes geo rules off targets. */
export async function unassignGeoRules(
  batch: Batch,
  assigned: readonly { readonly id: number; readonly target: string }[],
): Promise<void> {
  if (assigned.length === 0) return;
  await batch.end(
    'geo_assignments',
    assigned.map(({ id }) => id),
  );
  batch.touch(...assigned.map(({ target }) => target));
}

function isSame(a: GeoContent, b: GeoContent): boolean {
  const textOf = ({ action, countries, asns }: GeoContent) => `${action} ${countries} ${asns}`;
  return textOf(a) === textOf(b);
}

/** Creates an unassigned rule and returns its id. Countries and ASNs are stored sorted, each once. */
export async function createGeoRule(
  batch: Batch,
  organisationId: number,
  content: GeoContent,
): Promise<number> {
  const { action, countries, asns } = canonicalGeo(content);
  const { rows } = await sql<{ id: number }>`
    insert into geo_rules (organisation_id, action, countries, asns, owner, created_generation)
    values (${organisationId}, ${action}, ${countries}::text[], ${asns}::bigint[], ${batch.owner},
            ${UNSTAMPED.created_generation})
    returning id
  `.execute(batch.tx);
  batch.begin(
    'geo_rules',
    rows.map((row) => row.id),
  );
  const created = rows[0];
  if (created === undefined) throw new Error('an insert returned no row');
  return created.id;
}

/** Assigns a geo rule to addresses or prefixes inside holdings of its organisation. */
export async function assignGeoRule(
  batch: Batch,
  geoRuleId: number,
  targets: readonly string[],
): Promise<void> {
  if (targets.length === 0) return;
  const { organisationId } = await requireGeoRule(batch, geoRuleId);
  const places: GeoPlace[] = [];
  for (const text of targets) {
    const target = requireTarget(text);
    const holdingId = await findAssignableHolding(batch.tx, organisationId, target);
    places.push({ target, holdingId });
  }
  await placeGeoRule(batch, geoRuleId, places);
}

interface GeoPlace {
  /** With its length. */
  readonly target: string;
  readonly holdingId: number;
}

/** Assigns a geo rule to targets whose holdings are known. */
export async function placeGeoRule(
  batch: Batch,
  geoRuleId: number,
  places: readonly GeoPlace[],
): Promise<void> {
  if (places.length === 0) return;
  const { tx } = batch;
  const { organisationId } = await requireGeoRule(batch, geoRuleId);
  const holdings = places.map(({ holdingId }) => holdingId);
  await lockHoldings(tx, holdings);
  const { rows } = await sql<{ id: number; target: string }>`
    insert into geo_assignments (geo_rule_id, holding_id, target, created_generation)
    select ${geoRuleId}, holding, target, ${UNSTAMPED.created_generation}
      from unnest(${holdings}::bigint[], ${places.map(({ target }) => target)}::cidr[]) as w (holding, target)
    on conflict do nothing returning id, target`.execute(tx);
  const created = new Set(rows.map(({ target }) => target));
  const twice = places.find(({ target }) => !created.has(target));
  if (twice !== undefined) {
    throw new Problem('rule_exists', `The geo rule is on ${showTarget(twice.target)} already.`);
  }
  batch.begin(
    'geo_assignments',
    rows.map(({ id }) => id),
  );
  batch.touch(...places.map(({ target }) => target));
  await requireConfiguredLimit(tx, organisationId);
}

function showTarget(target: string): string {
  const parsed = parseCidr(target);
  return parsed.ok ? formatNetwork(parsed.value) : target;
}

export async function deleteGeoRule(batch: Batch, geoRuleId: number): Promise<void> {
  await requireGeoRule(batch, geoRuleId);
  const assigned = await loadAssigned(batch, geoRuleId);
  await batch.end(
    'geo_assignments',
    assigned.map(({ id }) => id),
  );
  await batch.end('geo_rules', [geoRuleId]);
  batch.touch(...assigned.map(({ target }) => target));
}

/** Returns the canonical content; throws a `Problem` when it is invalid. */
function canonicalGeo(content: GeoContent): GeoContent {
  const countries = [...new Set(content.countries)].toSorted();
  const asns = [...new Set(content.asns)].toSorted((a, b) => a - b);
  const count = countries.length + asns.length;
  if (count === 0 || count > MAX_NAMES) {
    throw invalid(`A geo rule names 1 to ${MAX_NAMES} countries and ASNs.`);
  }
  for (const country of countries) {
    const parsed = parseCountry(country);
    if (!parsed.ok) throw invalid(`${parsed.reason}.`);
  }
  const wrong = asns.find((asn) => !Number.isInteger(asn) || asn < 1 || asn > MAX_ASN);
  if (wrong !== undefined) throw invalid(`${wrong} is no ASN: they run from 1 to ${MAX_ASN}.`);
  return { action: content.action, countries, asns };
}

function invalid(detail: string): Problem {
  return new Problem('invalid_request', detail);
}

async function requireGeoRule(batch: Batch, id: number): Promise<{ organisationId: number }> {
  await lockRows(batch.tx, 'geo_rules', [id], 'update');
  const { rows } = await sql<{ organisationId: number; owner: Owner }>`
    select organisation_id as "organisationId", owner from geo_rules
     where id = ${id} and deleted_generation is null`.execute(batch.tx);
  const rule = rows[0];
  if (rule === undefined) throw new Problem('not_found', `There is no geo rule ${id}.`);
  batch.requireOwn(rule.owner, `The geo rule ${id}`);
  return rule;
}

async function loadAssigned(
  batch: Batch,
  geoRuleId: number,
): Promise<{ id: number; target: string }[]> {
  const { rows } = await sql<{ id: number; target: string }>`
    select id, target from geo_assignments
     where geo_rule_id = ${geoRuleId} and deleted_generation is null
  `.execute(batch.tx);
  return rows;
}
