import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { planFleet } from './apply.ts';
import {
  ADDRESSES,
  CARVED,
  type Model,
  model,
  PREFIXES,
  targetsOf,
  write,
} from '../testing/drawn-fleet.ts';
import { applyText, insertOwnRule, mustParse } from '../testing.ts';

/** The content of the database, read independently of the tested code. */
async function read(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select 'holding ' || o.slug || ' ' || h.cidr as line
      from holdings h join organisations o on o.id = h.organisation_id where h.during @> now()
    union all select 'flag ' || unnest(flags) from organisations
    union all select 'rule ' || r.port from group_rules r where r.deleted_generation is null
    union all select 'on ' || a.target from group_assignments a
      join holdings h on h.id = a.holding_id
     where a.deleted_generation is null and h.during @> now()
    union all select 'geo ' || array_to_string(countries, ' ') from geo_rules where deleted_generation is null
    union all select 'geo on ' || a.target from geo_assignments a
      join holdings h on h.id = a.holding_id
     where a.deleted_generation is null and h.during @> now()
    union all select 'service ' || name || ' ' || active || ' ' || jsonb_array_length(managed_filters)
      from services s where active or exists (select from holdings where service_id = s.id and during @> now())
    union all select 'default ' || d.action || ' ' || d.target from default_actions d
      join holdings h on h.id = d.holding_id
     where d.deleted_generation is null and h.during @> now()
    union all select 'baseline ' || port from baseline_rules where deleted_generation is null
    union all select 'edge ' || sees || ' ' || array_to_string(devices, ' ') from edges`.execute(
    db,
  );
  return rows.map(({ line }) => line).toSorted();
}

function expected(wanted: Model): string[] {
  const { service, edge } = wanted;
  const targets = targetsOf(wanted).map((target) =>
    target.includes('/') ? target : `${target}/${target.includes(':') ? 128 : 32}`,
  );
  const held = service !== null && (service.active || service.carved);
  return [
    ...PREFIXES.flatMap((cidr, index) => {
      const slug = wanted.prefixes[index];
      return slug ? [`holding ${slug} ${cidr}`] : [];
    }),
    ...(service?.carved ? [`holding hive ${CARVED}/32`] : []),
    ...wanted.flags.map((flag) => `flag ${flag}`),
    ...wanted.ports.map((port) => `rule ${port}`),
    ...(wanted.ports.length === 0 ? [] : targets.map((target) => `on ${target}`)),
    ...(wanted.countries.length === 0 ? [] : [`geo ${wanted.countries.toSorted().join(' ')}`]),
    ...(wanted.countries.length === 0 ? [] : targets.map((target) => `geo on ${target}`)),
    ...(service !== null && held
      ? [`service ${service.name} ${service.active} ${service.managed ? 1 : 0}`]
      : []),
    ...PREFIXES.filter((_, index) => wanted.fallback && wanted.prefixes[index] === 'acme').map(
      (cidr) => `default ${wanted.fallback} ${cidr}`,
    ),
    ...wanted.baseline.map((port) => `baseline ${port}`),
    ...(edge === null ? [] : [`edge ${edge.sees} ${edge.devices.join(' ')}`]),
  ].toSorted();
}

test('after any edits, the database matches the file and a second plan is empty', async (t) => {
  const { db } = await testDatabase(t);
  let port = 0;
  const property = fc.asyncProperty(
    fc.array(model, { minLength: 1, maxLength: 3 }),
    async (edits) => {
      for (const wanted of edits) {
        const text = write(wanted);
        await applyText(db, text, true);
        assert.deepEqual(await read(db), expected(wanted));
        const again = await planFleet(db, mustParse(text));
        assert.deepEqual([again.changes, again.mistakes, again.losses], [[], [], []]);
        // Callers may use their addresses: holdings that end with objects are kept and may not return.
        const prefix = wanted.prefixes.indexOf('hive');
        if (prefix >= 0) {
          port += 1;
          await insertOwnRule(db, ADDRESSES[prefix] ?? '', { port });
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 15 });
});
