import { type LimitName, LIMITS } from '@portcullis/contract/schemas/declared/limits.ts';
import {
  ORGANISATION,
  type OrganisationObject,
} from '@portcullis/contract/schemas/declared/organisation.ts';
import { countOf } from '@portcullis/core/count.ts';
import { sql } from 'kysely';
import { defineKind } from '../kind.ts';
import { kindTable } from '../table.ts';
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

const own = (table: string) =>
  sql`from ${sql.table(table)} t where t.organisation_id = organisations.id`;
const byHand = sql`t.owner = 'portal'`;
const present = sql`(upper_inf(t.during) or upper(t.during) > now())`;

const table = kindTable<Detected<OrganisationObject>, Facts>({
  table: 'organisations',
  key: 'slug',
  columns: { slug: 'text', name: 'text', flags: 'text[]', limits, detection: 'jsonb' },
  facts: {
    externalId: sql`external_id`,
    asns: sql`array(select asn ${own('asns')} order by asn)`,
    prefixes: sql`(select count(*) ${own('holdings')} and t.service_id is null and ${present})`,
    services: sql`(select count(*) ${own('services')})`,
    servers: sql`(select count(*) ${own('game_servers')})`,
    holdings: sql`(select count(*) ${own('holdings')} and ${present})`,
    madeByHand: sql`jsonb_build_object(
      'holding', (select count(*) ${own('holdings')} and ${byHand} and ${present}),
      'key', (select count(*) ${own('api_keys')} and ${byHand} and t.revoked_at is null),
      'group', (select count(*) ${own('groups')} and ${byHand} and t.deleted_at is null),
      'geo rule', (select count(*) ${own('geo_rules')} and ${byHand} and t.deleted_generation is null),
      'server', (select count(*) ${own('game_servers')} and ${byHand}),
      'service', (select count(*) ${own('services')} and ${byHand} and t.active))`,
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
