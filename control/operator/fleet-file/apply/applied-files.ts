import { deserialize, serialize } from 'node:v8';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import type { Db, Tx } from '../../../db/database.ts';
import type { FleetFile } from '../desired.ts';

/** The form of stored files: another version may have stored another, which cannot be applied. */
const FORM = 7;

/** An undo needs two; the others are for whoever looks for what was applied when. */
const KEPT = 10;

/**
 * Keeps a file that was applied. Secrets of keys are left out: a key that an undo brings back has its stored hash still,
 * so its secret works again; a secret that the undone apply replaced does not come back.
 */
export async function keepAppliedFile(tx: Tx, file: FleetFile): Promise<void> {
  const content = contentOf(file);
  await sql`insert into fleet_applies (path, content) values (${file.path}, ${content})`.execute(
    tx,
  );
  await sql`
    delete from fleet_applies
     where id <= (select max(id) from fleet_applies) - ${KEPT}`.execute(tx);
}

/** Whether it is the file that was kept last. */
export async function isKeptLast(tx: Tx, file: FleetFile): Promise<boolean> {
  const { rows } = await sql<{ content: Buffer }>`
    select content from fleet_applies order by id desc limit 1`.execute(tx);
  return rows[0]?.content.equals(contentOf(file)) ?? false;
}

function contentOf(file: FleetFile): Buffer {
  return gzipSync(serialize({ form: FORM, file: withoutSecrets(file) }));
}

/** The file that was applied before the last one. Null if there is none of this version. */
export async function loadPreviousFile(
  db: Db,
): Promise<{ readonly file: FleetFile; readonly at: Date } | null> {
  const { rows } = await sql<{ at: Date; content: Buffer }>`
    select at, content from fleet_applies order by id desc offset 1 limit 1`.execute(db);
  const [row] = rows;
  if (row === undefined) return null;
  const stored = deserialize(gunzipSync(row.content)) as {
    readonly form?: number;
    readonly file: FleetFile;
  };
  return stored.form === FORM ? { file: stored.file, at: row.at } : null;
}

function withoutSecrets(file: FleetFile): FleetFile {
  return {
    ...file,
    objects: {
      ...file.objects,
      key: file.objects.key.map(({ object, at }) => ({ object: { ...object, secret: null }, at })),
    },
  };
}
