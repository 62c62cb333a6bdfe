import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';
import type { Current } from './kind.ts';

/** The type of a column in PostgreSQL: it decides how a value is read and written. */
type ColumnType =
  | 'text'
  | 'text[]'
  | 'boolean'
  | 'integer'
  | 'bigint'
  | 'jsonb'
  | 'cidr'
  | 'cidr[]'
  | 'inet'
  | 'inet[]'
  | 'uuid[]'
  | 'timestamptz';

/** A column of the same name as its field, or of another. */
type Column = ColumnType | readonly [column: string, type: ColumnType];

interface TableOptions<T extends object, Facts extends object> {
  readonly table: string;
  /** The field by which an object is found. */
  readonly key: keyof T & string;
  readonly columns: { readonly [Field in keyof T & string]: Column };
  /** Facts that are read beside the fields, as SQL. */
  readonly facts?: { readonly [Fact in keyof Facts & string]: RawBuilder<unknown> };
}

/** The statements of a kind that has a table with a column for each field. */
export interface KindTable<T extends object, Facts extends object> {
  load(db: Db | Tx, keys?: readonly string[]): Promise<Current<T, Facts>[]>;
  /** Creates objects of the side that writes, or changes them, in one statement. */
  upsert(batch: Batch, objects: readonly T[]): Promise<void>;
  adopt(tx: Tx, keys: readonly string[]): Promise<void>;
  delete(tx: Tx, rows: readonly Pick<Current<T, Facts>, 'id'>[]): Promise<void>;
}

/** How a type is read, where its value is not what the object has. */
const READ: Readonly<
  Partial<Record<ColumnType, (column: RawBuilder<unknown>) => RawBuilder<unknown>>>
> = {
  cidr: (column) => sql`${column}::text`,
  'cidr[]': (column) => sql`${column}::text[]`,
  inet: (column) => sql`host(${column})`,
  'inet[]': (column) => sql`array(select host(unnest(${column})))`,
  'uuid[]': (column) => sql`${column}::text[]`,
  timestamptz: (column) =>
    sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')`,
};

export function kindTable<T extends object, Facts extends object = object>(
  options: TableOptions<T, Facts>,
): KindTable<T, Facts> {
  const { table, key, facts } = options;
  const fields = fieldsOf(options.columns);
  const factual = Object.entries<RawBuilder<unknown>>(facts ?? {});
  const keyColumn = sql.ref(fields.find(({ field }) => field === key)?.name ?? key);
  const selected = sql.join([
    ...fields.map(({ field, read }) => sql`${read} as ${sql.ref(field)}`),
    ...factual.map(([name, fact]) => sql`${fact} as ${sql.ref(name)}`),
  ]);
  const fieldNames = fields.map(({ field }) => field);
  const factNames = factual.map(([name]) => name);
  return {
    async load(db, keys) {
      const wanted = keys ?? null;
      const { rows } = await sql<Row>`
        select id, owner, ${selected} from ${sql.table(table)}
         where ${wanted}::text[] is null or ${keyColumn}::text = any(${wanted}::text[])
         order by ${keyColumn}`.execute(db);
      return rows.map(({ id, owner, ...row }) => ({
        id,
        owner,
        object: pick(row, fieldNames) as T,
        facts: pick(row, factNames) as Facts,
      }));
    },
    upsert: (batch, objects) => upsert(batch, objects, { table, keyColumn, fields }),
    async adopt(tx, keys) {
      await sql`
        update ${sql.table(table)} set owner = 'fleet'
         where owner = 'portal' and ${keyColumn}::text = any(${keys}::text[])`.execute(tx);
    },
    async delete(tx, rows) {
      const ids = rows.map(({ id }) => id);
      await sql`delete from ${sql.table(table)} where id = any(${ids}::bigint[])`.execute(tx);
    },
  };
}

interface StoredField {
  readonly field: string;
  /** Its column. */
  readonly name: string;
  readonly type: ColumnType;
  readonly read: RawBuilder<unknown>;
}

function fieldsOf(columns: Readonly<Record<string, Column>>): StoredField[] {
  return Object.entries(columns).map(([field, column]) => {
    const [name, type] = typeof column === 'string' ? ([field, column] as const) : column;
    return { field, name, type, read: READ[type]?.(sql.ref(name)) ?? sql.ref(name) };
  });
}

interface Upserting {
  readonly table: string;
  readonly keyColumn: RawBuilder<unknown>;
  readonly fields: readonly StoredField[];
}

async function upsert(
  { tx, owner }: Batch,
  objects: readonly object[],
  { table, keyColumn, fields }: Upserting,
): Promise<void> {
  const columns = fields.map(({ name }) => sql.ref(name));
  const given = fields.map(({ field }) => sql.ref(field));
  const typed = fields.map(({ field, type }) => sql`${sql.ref(field)} ${sql.raw(type)}`);
  const changes = columns.map((column) => sql`${column} = excluded.${column}`);
  await sql`
    insert into ${sql.table(table)} (${sql.join(columns)}, owner)
    select ${sql.join(given)}, ${owner}
      from jsonb_to_recordset(${JSON.stringify(objects)}::jsonb) as given (${sql.join(typed)})
    on conflict (${keyColumn}) do update set ${sql.join(changes)}`.execute(tx);
}

interface Row {
  readonly id: number;
  readonly owner: Owner;
  readonly [field: string]: unknown;
}

function pick(row: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}
