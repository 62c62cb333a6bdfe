import { ASN, type AsnObject } from '@portcullis/contract/schemas/declared/asn.ts';
import { sql } from 'kysely';
import { conflict } from '../../problem.ts';
import { APPENDED, defineKind, type FileEntry, type FilePart, type Written } from '../kind.ts';
import { gathered, kindTable, named } from '../table.ts';

interface Facts {
  /** A holding is or was announced under it. */
  readonly isNamed: boolean;
  /** Organisations with present and future holdings under it. */
  readonly holders: readonly string[];
}

const holdersBy = gathered(
  sql`holdings t join organisations o on o.id = t.organisation_id
       where (upper_inf(t.during) or upper(t.during) > now())`,
  'asn',
  sql`jsonb_agg(distinct o.slug)`,
);

const table = kindTable<AsnObject, Facts>({
  table: 'asns',
  key: 'asn',
  id: sql`asn`,
  columns: { asn: 'bigint', organisation: named('organisation_id', 'organisations', 'slug') },
  facts: {
    isNamed: sql`asns.asn in (select asn from holdings where asn is not null)`,
    holders: sql`coalesce(${holdersBy(sql`asns.asn`)}, '[]')`,
  },
});

/** A number that prefixes are announced under. */
export const asn = defineKind<typeof ASN, AsnObject, Facts>(ASN, {
  place: findEntries,
  write: (many) => many.map(writeEntry),
  key: (object) => String(object.asn),
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
  ],
  clash({ asn: number, organisation }, { organisation: other }) {
    if (organisation === other) return `The ASN ${number} is here twice.`;
    return other === null
      ? `AS${number} is the operator's already: prefixes may name it as it is.`
      : `AS${number} belongs to ${other} already. An ASN that several announce under goes into asns at the top of the file.`;
  },
  async admit(_tx, { object: { asn: number, organisation }, before }) {
    if (organisation === null) return;
    const others = before?.facts.holders.filter((slug) => slug !== organisation) ?? [];
    if (others.length === 0) return;
    throw conflict(`${others.join(', ')} announces prefixes under AS${number}: end them first.`);
  },
  load: table.load,
  adopt: table.adopt,
  save: (batch, many) =>
    table.upsert(
      batch,
      many.map(({ object }) => object),
    ),
  /** Past holdings keep the number that they were announced under. */
  async remove({ tx }, many) {
    await sql`
      delete from asns where asn = any(${many.map(({ object }) => object.asn)}::bigint[])
         and not exists (select from holdings h where h.asn = asns.asn)`.execute(tx);
  },
  subject: ({ asn: number, organisation }) => `AS${number} of ${organisation ?? 'the operator'}`,
  summary: () => '',
  shown: ({ organisation }) => ({ organisation: organisation ?? 'the operator' }),
  isEnded: (_current, isNamed) => isNamed,
  hindrance: ({ object, facts: { isNamed } }) =>
    isNamed
      ? `Prefixes are or were announced under AS${object.asn}; it stays for their history.`
      : null,
});

interface FileWithAsns {
  readonly asns?: readonly number[];
  readonly organisations?: Readonly<Record<string, { readonly asns?: readonly number[] }>>;
}

/** The lists of numbers of the operator and of each organisation. */
function findEntries(file: FileWithAsns): FileEntry[] {
  const entriesOf = (
    numbers: readonly number[],
    organisation: string | null,
    pointer: string,
  ): FileEntry[] =>
    numbers.map((number, index) => ({
      pointer: `${pointer}/asns/${index}`,
      value: { asn: number, organisation },
    }));
  return [
    ...entriesOf(file.asns ?? [], null, ''),
    ...Object.entries(file.organisations ?? {}).flatMap(([slug, { asns = [] }]) =>
      entriesOf(asns, slug, `/organisations/${slug}`),
    ),
  ];
}

function writeEntry(one: Written<AsnObject, Facts>): FilePart {
  const { asn: value, organisation } = one.object;
  const path = organisation === null ? [] : ['organisations', organisation];
  return { path: [...path, 'asns', APPENDED], value, of: [one] };
}
