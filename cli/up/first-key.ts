import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey, listKeys, revokeKey } from '@portcullis/control/access/index.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { operator } from '../database.ts';

/** Name of the key that the first start makes. */
export const FIRST_KEY = 'first';
const SLUG = 'default';

/**
 * A file that lies in the data directory from before the first key is made until it has been shown: a start that is
 * interrupted in between leaves it, and the next start shows another key.
 */
export class UnseenKey {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'first-key-unseen');
  }

  get exists(): boolean {
    return existsSync(this.#path);
  }

  expect(): void {
    writeFileSync(this.#path, 'The first key was not shown yet. The next start makes another.\n');
  }

  seen(): void {
    rmSync(this.#path, { force: true });
  }
}

/** Replaces the key that nobody saw. Returns the new secret; null if there is no such key. */
export async function replaceFirstKey(db: Db): Promise<string | null> {
  return db.transaction().execute(async (tx) => {
    const organisation = await tx
      .selectFrom('organisations')
      .select('id')
      .where('slug', '=', SLUG)
      .forUpdate()
      .executeTakeFirst();
    if (organisation === undefined) return null;
    const keys = await listKeys(tx, organisation.id);
    const unseen = keys.find((key) => key.name === FIRST_KEY && key.revokedAt === null);
    if (unseen === undefined) return null;
    const actor = operator();
    await revokeKey(tx, unseen.id, actor);
    const wanted = { name: FIRST_KEY, abilities: ABILITIES, owner: 'portal' } as const;
    const { secret } = await createKey(tx, { organisationId: organisation.id, ...wanted }, actor);
    return secret;
  });
}
