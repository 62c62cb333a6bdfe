import { type LimitName, LIMITS } from '@portcullis/contract/schemas/declared/limits.ts';
import {
  ORGANISATION,
  type OrganisationObject,
} from '@portcullis/contract/schemas/declared/organisation.ts';
import { countOf } from '@portcullis/core/count.ts';
import { type RawBuilder, sql } from 'kysely';
import { defineKind } from '../kind.ts';
import { gathered, kindTable } from '../table.ts';
import { type Detected, fromDetected, summariseDetection, toDetected } from './detection.ts';

interface Facts {
  readonly externalId: string | null;
  readonly asns: readonly number[];
  readonly prefixes: number;
  readonly services: number;
  readonly servers: number;
  /** Present and future ones. */
  readonly holdings: number;
  /** Counts of what was made by hand, by noun. */
  readonly madeByHand: Readonly<Record<string, number>>;
}

const limits = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, 'integer'])) as Record<
  LimitName,
  'integer'
>;

const ID = sql.ref('organisations.id');
const byHand = sql`t.owner = 'portal'`;
const present = sql`(upper_inf(t.during) or upper(t.during) > now())`;

/** The number of its rows of a table. */
function countOwn(table: string, when = sql`true`): RawBuilder<unknown> {
  const rows = sql`${sql.table(table)} t where ${when}`;
  return sql`coalesce(${gathered(rows, 'organisation_id', sql`count(*)`)(ID)}::integer, 0)`;
}

const table = kindTable<Detected<OrganisationObject>, Facts>({
  table: 'organisations',
  key: 'slug',
  columns: { slug: 'text', name: 'text', flags: 'text[]', limits, detection: 'jsonb' },
  facts: {
    externalId: sql`external_id`,
    asns: sql`coalesce(${gathered(sql`asns t where true`, 'organisation_id', sql`jsonb_agg(t.asn order by t.asn)`)(ID)}, '[]')`,
    prefixes: countOwn('holdings', sql`t.service_id is null and ${present}`),
    services: countOwn('services'),
    servers: countOwn('game_servers'),
    holdings: countOwn('holdings', present),
    madeByHand: sql`jsonb_build_object(
      'holding', ${countOwn('holdings', sql`${byHand} and ${present}`)},
      'key', ${countOwn('api_keys', sql`${byHand} and t.revoked_at is null`)},
      'group', ${countOwn('groups', sql`${byHand} and t.deleted_at is null`)},
      'geo rule', ${countOwn('geo_rules', sql`${byHand} and t.deleted_generation is null`)},
      'server', ${countOwn('game_servers', byHand)},
      'service', ${countOwn('services', sql`${byHand} and t.active`)})`,
  },
});

export const organisation = defineKind<typeof ORGANISATION, OrganisationObject, Facts>(
  ORGANISATION,
  {
    place: '/organisations/{slug}',
    key: ({ slug }) => slug,
    organisation: ({ slug }) => slug,
    refersTo: [],
    load: async (db, keys) => (await table.load(db, keys)).map(fromDetected),
    adopt: table.adopt,
    save: (batch, many) =>
      table.upsert(
        batch,
        many.map(({ object }) => toDetected(object)),
      ),
    /** Takes its flags; its row stays for the history. A file has suspended the keys that it declared. */
    async remove({ tx, owner }, many) {
      const ids = many.map(({ id }) => id);
      await sql`update organisations set flags = '{}' where id = any(${ids}::bigint[])`.execute(tx);
      if (owner === 'fleet') return;
      await sql`
        update api_keys set revoked_at = clock_timestamp()
         where organisation_id = any(${ids}::bigint[]) and revoked_at is null`.execute(tx);
    },
    summary: ({ name, ...settings }) => name + summariseDetection(settings),
    ending: () => 'closed: its areas are deactivated, its row stays for the history',
    isEnded: ({ object: { flags } }) => flags.length === 0,
    losses: ({ before, after, byHand: isNamed }) =>
      after === null && !isNamed
        ? [`organisation ${before.object.slug} is not in the file, and would be closed.`]
        : [],
    hindrance: ({ object: { slug }, facts: { servers, holdings } }) =>
      servers > 0 || holdings > 0
        ? `${slug} has ${countOf(servers, 'game server')} and ${countOf(holdings, 'holding')}: delete and end them first.`
        : null,
    holds({ facts: { madeByHand } }) {
      const held = Object.entries(madeByHand).filter(([, count]) => count > 0);
      return held.length === 0
        ? null
        : held.map(([noun, count]) => countOf(count, noun)).join(', ');
    },
    beside: {
      async save(tx, slug, beside) {
        const { external_id: externalId = null }: { readonly external_id?: string | null } = beside;
        await sql`update organisations set external_id = ${externalId} where slug = ${slug}`.execute(
          tx,
        );
      },
      show: ({ externalId, asns, prefixes, services }) => ({
        external_id: externalId,
        asns,
        prefixes,
        services,
      }),
    },
  },
);
