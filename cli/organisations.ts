import type { Db, Reader, Tx } from '@portcullis/control/db/database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { FIRST_ORGANISATION } from './options.ts';

/** The id of an organisation; fails with the names that there are. */
export async function findOrganisationId(db: Db, slug: string): Promise<number> {
  const { findOrganisation, listOrganisations } = await import(
    '@portcullis/control/access/index.ts'
  );
  const found = await findOrganisation(db, slug);
  if (found !== null) return found.id;
  const known = (await listOrganisations(db)).map((one) => one.slug);
  throw failed(`there is no organisation ${slug}; there are: ${known.join(', ') || 'none'}`);
}

/**
 * The organisation that the first start of `up` made, which the first operator owns, so that its addresses are the first
 * page. An organisation of a fleet file is a customer and is not given.
 */
export async function findFirstOrganisation(
  db: Reader | Tx,
): Promise<{ readonly id: number; readonly slug: string } | null> {
  const found = await db
    .selectFrom('organisations')
    .select(['id', 'slug'])
    .where('slug', '=', FIRST_ORGANISATION)
    .where('owner', '=', 'portal')
    .executeTakeFirst();
  return found ?? null;
}
