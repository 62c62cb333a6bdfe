import { sql } from 'kysely';
import type { Reader, Tx } from '../../db/database.ts';
import type { EggFile, FoundEgg } from '../../game-servers/index.ts';
import type { EggLibrary } from '../kind.ts';

/** An egg of which servers can be made. */
export interface LibraryEntry {
  /** The name that `egg` of a server takes. */
  readonly name: string;
  readonly found: FoundEgg;
  /** Shipped with this version, or added by an operator. */
  readonly isShipped: boolean;
  /** Owners of organisations may choose it. */
  readonly offered: boolean;
  /** The URL that it came from. */
  readonly source: string | null;
}

interface Row {
  readonly name: string;
  readonly document: string;
  readonly offered: boolean;
  readonly source: string | null;
}

/** The egg of a name: one that an operator added, or else a shipped one. */
export async function findEgg(
  db: Reader | Tx,
  library: EggLibrary,
  name: string,
): Promise<EggFile & { readonly offered?: boolean }> {
  const [row] = await loadRows(db, name);
  if (row === undefined) return { ...(await library.find(name)), offered: true };
  const egg = library.read(JSON.parse(row.document));
  return { ...egg, offered: row.offered };
}

/** Every egg that can be used, by its title. One that this version cannot read any more is left out. */
export async function listLibrary(db: Reader | Tx, library: EggLibrary): Promise<LibraryEntry[]> {
  const shipped = await Promise.all(
    library.names().map(async (name) => ({
      row: { name, offered: true, source: null },
      file: await library.find(name),
      isShipped: true,
    })),
  );
  const added = (await loadRows(db, null)).map(({ document, ...row }) => ({
    row,
    file: library.read(JSON.parse(document)),
    isShipped: false,
  }));
  const entries = [...added, ...shipped].flatMap(({ row, file, isShipped }) =>
    file.ok ? [{ ...row, found: file.found, isShipped }] : [],
  );
  return entries.toSorted((a, b) => a.found.egg.name.localeCompare(b.found.egg.name, 'en'));
}

async function loadRows(db: Reader | Tx, name: string | null): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    select name, document, offered, source from library_eggs
     where ${name}::text is null or name = ${name}`.execute(db);
  return rows;
}
