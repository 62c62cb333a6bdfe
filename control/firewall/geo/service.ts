import { sql } from 'kysely';
import { parseCountry } from '@portcullis/core/net/countries.ts';
import type { Owner } from '../../db/schema.ts';
import { type Batch, BEGINS } from '../../fleet/batch.ts';
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
            ${BEGINS.created_generation})
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

/** Assigns a geo rule to an address or a prefix inside a holding of its organisation. */
export async function assignGeoRule(
  batch: Batch,
  geoRuleId: number,
  target: string,
  holdingId?: number,
): Promise<number> {
  const { organisationId } = await requireGeoRule(batch, geoRuleId);
  const cidr = requireTarget(target);
  const holder = holdingId ?? (await findAssignableHolding(batch.tx, organisationId, cidr));
  await lockHoldings(batch.tx, [holder]);
  const { rows } = await sql<{ id: number }>`
    insert into geo_assignments (geo_rule_id, holding_id, target, created_generation)
    values (${geoRuleId}, ${holder}, ${cidr}, ${BEGINS.created_generation})
    on conflict do nothing returning id
  `.execute(batch.tx);
  const created = rows[0];
  if (created === undefined) {
    throw new Problem('rule_exists', `The geo rule is on ${target} already.`);
  }
  batch.begin('geo_assignments', [created.id]);
  batch.touch(cidr);
  await requireConfiguredLimit(batch.tx, organisationId);
  return created.id;
}

/** Unassigns a geo rule from a target. Returns false when it was not assigned. */
export async function unassignGeoRule(
  batch: Batch,
  geoRuleId: number,
  target: string,
): Promise<boolean> {
  await requireGeoRule(batch, geoRuleId);
  const cidr = requireTarget(target);
  const ended = (await loadAssigned(batch, geoRuleId)).filter((row) => row.target === cidr);
  await batch.end(
    'geo_assignments',
    ended.map(({ id }) => id),
  );
  if (ended.length > 0) batch.touch(cidr);
  return ended.length > 0;
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
export function canonicalGeo(content: GeoContent): GeoContent {
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
  const { rows } = await sql<{ organisationId: number; owner: Owner }>`
    select organisation_id as "organisationId", owner from geo_rules
     where id = ${id} and deleted_generation is null for update
  `.execute(batch.tx);
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
