import { GEO_RULE, type GeoRuleObject } from '@portcullis/contract/schemas/declared/geo-rule.ts';
import { parseCountry } from '@portcullis/core/net/countries.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import {
  createGeoRule,
  deleteGeoRule,
  placeGeoRule,
  unassignGeoRules,
} from '../../firewall/geo/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import { type Current, defineKind, type Placed, type Refuse, type Wanted } from '../kind.ts';
import {
  addressesAt,
  comparePlaces,
  describePlaces,
  placeAll,
  placesOf,
  shorten,
  targetsOf,
  withoutAddresses,
} from './placing.ts';

interface Facts extends Placed {
  readonly organisationId: number;
}

type StoredRule = Current<GeoRuleObject, Facts>;

/** A rule by country or ASN, which has no name: a file finds it by what it drops. */
export const geoRule = defineKind<typeof GEO_RULE, GeoRuleObject, Facts>(GEO_RULE, {
  place: '/organisations/{organisation}/geo_rules/*',
  key: ({ id, ...rule }) => (id > 0 ? String(id) : `${rule.organisation} ${contentOf(rule)}`),
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
  ],
  targets: targetsOf,
  without: withoutAddresses,
  complete: ({ asns = [] }) => ({ asns: asns.toSorted((a, b) => a - b) }),
  check: checkNames,
  clash: () => 'This is the same geo rule as one above: join their addresses.',
  match: matchRules,
  async admit(tx, wanted) {
    await placeAll(tx, targetsOf, [wanted]);
  },
  inherit: (object, before) => ({
    ...object,
    id: before !== null && contentOf(before) === contentOf(object) ? before.id : 0,
  }),
  load: loadRules,
  save: saveRules,
  async remove(batch, many) {
    for (const { id } of many) await deleteGeoRule(batch, id);
  },
  subject: (rule) => `geo rule ${contentOf(rule)} (${rule.organisation})`,
  summary: ({ addresses }) => shorten(describePlaces([], addresses)).join(', '),
  shown: () => ({}),
  further({ object: before }, after) {
    const content = contentOf(before) === contentOf(after) ? [] : [`becomes ${contentOf(after)}`];
    return shorten([...content, ...describePlaces(before.addresses, after.addresses)]);
  },
});

function contentOf({
  action,
  countries,
  asns,
}: Pick<GeoRuleObject, 'action' | 'countries' | 'asns'>): string {
  return `${action} ${[...countries, ...asns.map((asn) => `AS${asn}`)].join(' ')}`;
}

function checkNames({ countries, asns }: GeoRuleObject, refuse: Refuse): void {
  const count = countries.length + asns.length;
  if (count === 0) refuse('', 'A geo rule names countries or ASNs.');
  if (count > 1_000) refuse('', 'A geo rule names at most 1000 countries and ASNs.');
  for (const [index, country] of countries.entries()) {
    const parsed = parseCountry(country);
    if (!parsed.ok) refuse(`/countries/${index}`, `${parsed.reason}.`);
  }
}

function matchRules(
  objects: readonly GeoRuleObject[],
  rows: readonly StoredRule[],
): ReadonlyMap<number, StoredRule> {
  const keyOf = (rule: GeoRuleObject): string => `${rule.organisation} ${contentOf(rule)}`;
  const own = rows.filter(({ owner }) => owner === 'fleet');
  const byContent = new Map(own.map((row) => [keyOf(row.object), row]));
  return new Map(
    objects.flatMap((object, index) => {
      const row = byContent.get(keyOf(object));
      return row === undefined ? [] : [[index, row] as const];
    }),
  );
}

async function loadRules(
  db: Db | Tx,
  keys?: readonly string[],
  organisation?: string,
): Promise<StoredRule[]> {
  const { rows } = await sql<
    Omit<GeoRuleObject, 'addresses'> & Facts & { readonly owner: StoredRule['owner'] }
  >`
    select g.id, o.id as "organisationId", o.slug as organisation, g.owner, g.action, g.countries, g.asns,
           ${placesOf('geo_assignments', 'geo_rule_id')} as places
      from geo_rules g join organisations o on o.id = g.organisation_id
     where g.deleted_generation is null and ${searchOf(keys, organisation)} order by g.id`.execute(
    db,
  );
  return rows.map(({ id, owner, organisationId, places, ...rule }) => ({
    id,
    owner,
    object: { ...rule, id, addresses: addressesAt(places) },
    facts: { organisationId, places },
  }));
}

/** Rules by number, or the newest by what it drops. */
function searchOf(keys?: readonly string[], organisation?: string): RawBuilder<unknown> {
  if (organisation !== undefined) return sql`o.slug = ${organisation}`;
  if (keys === undefined) return sql`true`;
  const ids = keys.filter((key) => /^\d+$/.test(key));
  const content = sql`o.slug || ' ' || g.action || ' ' || array_to_string(
    g.countries || array(select 'AS' || asn from unnest(g.asns) with ordinality as a (asn, at) order by at), ' ')`;
  return sql`(g.id = any(${ids}::bigint[]) or g.id in (
    select max(g.id) from geo_rules g join organisations o on o.id = g.organisation_id
     where g.deleted_generation is null and ${content} = any(${keys}::text[]) group by ${content}))`;
}

/** Makes rules as wanted. Those of older generations do not change, so one with another content is a new rule. */
async function saveRules(
  batch: Batch,
  many: readonly Wanted<GeoRuleObject, Facts>[],
): Promise<void> {
  const { rows } = await sql<{ id: number; slug: string }>`
    select id, slug from organisations
     where slug = any(${many.map(({ object }) => object.organisation)}::text[])`.execute(batch.tx);
  const organisations = new Map(rows.map(({ id, slug }) => [slug, id]));
  for (const { one, places } of await placeAll(batch.tx, targetsOf, many)) {
    const { object, before } = one;
    if (before !== null && contentOf(before.object) === contentOf(object)) {
      const { removed, added } = comparePlaces(before.facts.places, places);
      await unassignGeoRules(batch, removed);
      await placeGeoRule(batch, before.id, added);
      continue;
    }
    if (before !== null) await deleteGeoRule(batch, before.id);
    const id = await createGeoRule(batch, organisations.get(object.organisation) ?? 0, object);
    await placeGeoRule(batch, id, places);
  }
}
