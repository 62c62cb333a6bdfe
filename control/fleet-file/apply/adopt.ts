import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { type Kind, type KindName, KINDS } from '../../operator/index.ts';
import type { FleetFile } from '../desired.ts';

/**
 * Hands objects that were made by hand to the fleet file, if it names them (`--adopt`): from then on they are changed and
 * removed by it. Nothing else of them changes.
 */
export async function adoptNamed(tx: Tx, file: FleetFile): Promise<void> {
  for (const { table, key, names, when = sql`true` } of namesOf(file)) {
    await sql`
      update ${sql.table(table)} set owner = 'fleet'
       where owner = 'portal' and ${key} = any(${names}::text[]) and ${when}`.execute(tx);
  }
  for (const kind of KINDS as readonly Kind[]) {
    const declared: readonly { readonly object: object }[] = file.objects[kind.name as KindName];
    await kind.adopt(
      tx,
      declared.map(({ object }) => kind.key(object)),
    );
  }
  // Defaults have no name: they go with their holding.
  await sql`
    update default_actions d set owner = 'fleet' from holdings h
     where h.id = d.holding_id and h.cidr = d.target and h.owner = 'fleet'
       and d.owner = 'portal' and d.deleted_at is null`.execute(tx);
}

type Fragment = ReturnType<typeof sql>;

interface Named {
  readonly table: string;
  readonly key: Fragment;
  readonly names: readonly string[];
  readonly when?: Fragment;
}

function namesOf({ organisations, asns, ...file }: FleetFile): Named[] {
  /** `acme ci`: names that are unique inside an organisation. */
  const inside = (name: Fragment): Fragment =>
    sql`(select slug from organisations where id = organisation_id) || ' ' || ${name}`;
  const all = organisations.flatMap(({ slug, ...one }) => [
    { table: 'organisations', key: sql`slug`, names: [slug] },
    { table: 'services', key: sql`id::text`, names: one.services.map(({ id }) => String(id)) },
    { table: 'asns', key: sql`asn::text`, names: one.asns.map(({ asn }) => String(asn)) },
    {
      table: 'holdings',
      key: inside(sql`cidr::text`),
      names: one.holdings.map(({ cidr }) => `${slug} ${cidr}`),
    },
    {
      table: 'api_keys',
      key: inside(sql`name`),
      names: one.keys.map(({ name }) => `${slug} ${name}`),
      when: sql`revoked_at is null`,
    },
    {
      table: 'groups',
      key: inside(sql`name`),
      names: one.groups.map(({ name }) => `${slug} ${name}`),
      when: sql`deleted_at is null`,
    },
  ]);
  return [
    { table: 'asns', key: sql`asn::text`, names: asns.map(({ asn }) => String(asn)) },
    {
      table: 'game_servers',
      key: sql`uuid::text`,
      names: file.gameServers.map(({ uuid }) => uuid),
    },
    ...all.filter(({ names }) => names.length > 0),
  ];
}
