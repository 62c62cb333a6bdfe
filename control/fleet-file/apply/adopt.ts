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
}

type Fragment = ReturnType<typeof sql>;

interface Named {
  readonly table: string;
  readonly key: Fragment;
  readonly names: readonly string[];
  readonly when?: Fragment;
}

function namesOf({ organisations }: FleetFile): Named[] {
  /** `acme ci`: names that are unique inside an organisation. */
  const inside = (name: Fragment): Fragment =>
    sql`(select slug from organisations where id = organisation_id) || ' ' || ${name}`;
  const all = organisations.flatMap(({ slug, ...one }) => [
    {
      table: 'groups',
      key: inside(sql`name`),
      names: one.groups.map(({ name }) => `${slug} ${name}`),
      when: sql`deleted_at is null`,
    },
  ]);
  return all.filter(({ names }) => names.length > 0);
}
