import {
  LIBRARY_EGG,
  type LibraryEggObject,
} from '@portcullis/contract/schemas/declared/library-egg.ts';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import { sql } from 'kysely';
import { type Current, defineKind } from '../kind.ts';
import { kindTable } from '../table.ts';

interface Facts {
  /** The servers that were made from it. */
  readonly servers: number;
}

/** Stored as text: the order of its members counts, such as that of images, and jsonb does not keep it. */
type Stored = Omit<LibraryEggObject, 'document'> & { readonly document: string };

const table = kindTable<Stored, Facts>({
  table: 'library_eggs',
  key: 'name',
  columns: { name: 'text', document: 'text', source: 'text', offered: 'boolean' },
  facts: {
    servers: sql`(select count(*)::integer from game_servers s where s.egg_name = library_eggs.name)`,
  },
});

/** An egg that an operator added to the library. */
export const libraryEgg = defineKind<typeof LIBRARY_EGG, LibraryEggObject, Facts>(LIBRARY_EGG, {
  place: '/library/*',
  key: ({ name }) => name,
  refersTo: [],
  async outside(_tx, _given, { compile }) {
    return { eggs: new Map(), compile };
  },
  check({ document }, refuse, { compile }) {
    const egg = parseEgg(document, compile);
    if (!egg.ok) refuse('/document', `This is no egg that can be used: ${egg.reason}`);
  },
  load: async (db, keys) =>
    (await table.load(db, keys)).map(({ object, ...row }) => ({
      ...row,
      object: fromText(object),
    })),
  adopt: table.adopt,
  save: (batch, many) =>
    table.upsert(
      batch,
      many.map(({ object }) => ({ ...object, document: JSON.stringify(object.document) })),
    ),
  remove: ({ tx }, many) => table.delete(tx, many),
  subject: ({ name }) => `egg ${name}`,
  summary: ({ document }) => titleOf(document),
  /** The document is compared by `further`: a difference of it would be longer than a plan. */
  shown: ({ document: _document, ...others }) => others,
  further: ({ object }: Current<LibraryEggObject, Facts>, after) => [
    JSON.stringify(object.document) === JSON.stringify(after.document) ? '' : 'the egg changed',
  ],
  beside: { show: ({ servers }) => ({ servers }) },
});

function fromText({ document, ...others }: Stored): LibraryEggObject {
  return { ...others, document: JSON.parse(document) as Record<string, unknown> };
}

function titleOf({ name }: Readonly<Record<string, unknown>>): string {
  return typeof name === 'string' ? name.trim().slice(0, 200) : '';
}
