import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createKey,
  type KeyView,
  listKeys,
  listOrganisations,
  revokeKey,
} from '@portcullis/control/access/index.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { commandLine } from '../installation/command-line.ts';
import { operator } from '../database.ts';

/** Name of the key that the first start makes. */
export const FIRST_KEY = 'first';
const SLUG = 'default';

/**
 * Files that lie in the data directory from before keys are made until they have been shown. A start that is interrupted
 * in between leaves them: the next one replaces the first key, and says how to get others of a fleet file.
 */
export class UnseenKeys {
  readonly #first: string;
  readonly #fleet: string;

  constructor(dataDir: string) {
    this.#first = join(dataDir, 'first-key-unseen');
    this.#fleet = join(dataDir, 'fleet-keys-unseen');
  }

  get isFirstUnseen(): boolean {
    return existsSync(this.#first);
  }

  /** Keys of a fleet file were made after this time and perhaps never shown; null if all were shown. */
  get fleetSince(): Date | null {
    if (!existsSync(this.#fleet)) return null;
    const since = new Date(readFileSync(this.#fleet, 'utf8').trim());
    return Number.isNaN(since.getTime()) ? new Date(0) : since;
  }

  expectFirst(): void {
    writeFileSync(this.#first, 'The first key was not shown yet. The next start makes another.\n');
  }

  /** An earlier time that is recorded stays. */
  expectFleet(since: Date): void {
    if (!existsSync(this.#fleet)) writeFileSync(this.#fleet, `${since.toISOString()}\n`);
  }

  seen(): void {
    for (const path of [this.#first, this.#fleet]) rmSync(path, { force: true });
  }
}

/**
 * Replaces the first key that nobody saw. Returns the new secret; null if there is no such key, or if it belongs to a
 * fleet file now.
 */
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
    const unseen = keys.find(
      (key) => key.name === FIRST_KEY && key.revokedAt === null && key.owner === 'portal',
    );
    if (unseen === undefined) return null;
    const actor = operator();
    await revokeKey(tx, unseen.id, actor);
    const wanted = { name: FIRST_KEY, abilities: ABILITIES, owner: 'portal' } as const;
    const { secret } = await createKey(tx, { organisationId: organisation.id, ...wanted }, actor);
    return secret;
  });
}

/** Sentences about active keys of a fleet file that were made since then and never used. */
export async function describeUnseenKeys(db: Db, since: Date, dataDir: string): Promise<string[]> {
  const lines: string[] = [];
  for (const { id, slug } of await listOrganisations(db)) {
    for (const key of await listKeys(db, id)) {
      if (isUnseen(key, since)) lines.push(describeUnseen(slug, key, dataDir));
    }
  }
  return lines;
}

function isUnseen({ owner, createdAt, revokedAt, lastUsedAt }: KeyView, since: Date): boolean {
  return owner === 'fleet' && createdAt >= since && revokedAt === null && lastUsedAt === null;
}

function describeUnseen(slug: string, { id, name, abilities }: KeyView, dataDir: string): string {
  const another = ['keys', 'create', '--organisation', slug, '--name', `${name}-2`, '--ability'];
  return [
    `The key ${name} of ${slug} was made by a start that may not have shown it. For another one:`,
    `  ${commandLine([...another, ...abilities], { dataDir })}`,
    `  ${commandLine(['keys', 'revoke', String(id)], { dataDir })}`,
  ].join('\n');
}
