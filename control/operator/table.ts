import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';
import type { Current } from './kind.ts';
import { momentTextOf } from './moments.ts';

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
  | 'uuid'
  | 'uuid[]'
  | 'timestamptz';

/** A column whose value is another than that of its field. */
interface MappedColumn {
  readonly column: string;
  /** The type of the field's value. */
  readonly type: ColumnType;
  read(column: RawBuilder<unknown>): RawBuilder<unknown>;
  write(value: RawBuilder<unknown>): RawBuilder<unknown>;
}

/** A column of the same name as its field, or of another. */
type Column = ColumnType | readonly [column: string, type: ColumnType] | MappedColumn;

/** Columns by field; a field that is an object may have a column for each of its own. */
type Columns<T> = {
  readonly [Field in keyof T & string]:
    | Column
    | (T[Field] extends object ? Columns<T[Field]> : never);
};

interface TableOptions<T extends object, Facts extends object> {
  readonly table: string;
  /** The field by which an object is found. */
  readonly key: keyof T & string;
  /** The number of a row. Default: `id`. */
  readonly id?: RawBuilder<number>;
  readonly columns: Columns<T>;
  /** Columns that follow from fields, as SQL of those of `given`. */
  readonly derived?: Readonly<Record<string, RawBuilder<unknown>>>;
  /** Facts that are read beside the fields, as SQL. */
  readonly facts?: { readonly [Fact in keyof Facts & string]: RawBuilder<unknown> };
}

/** The statements of a kind that has a table with a column for each field. */
export interface KindTable<T extends object, Facts extends object> {
  load(db: Db | Tx, keys?: readonly string[], organisation?: string): Promise<Current<T, Facts>[]>;
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
  timestamptz: (column) => momentTextOf(column),
};

/** A column with the id of a row that the field names: `acme` of organisations by slug. */
export function named(column: string, table: string, by: string): MappedColumn {
  const [of, name] = [sql.table(table), sql.ref(by)];
  return {
    column,
    type: 'text',
    read: (id) => sql`(select ${name} from ${of} where id = ${id})`,
    write: (value) => sql`(select id from ${of} where ${name} = ${value})`,
  };
}

export function kindTable<T extends object, Facts extends object = object>(
  options: TableOptions<T, Facts>,
): KindTable<T, Facts> {
  const { table, key, id = sql.ref<number>('id'), derived = {}, facts } = options;
  const fields = fieldColumns(options.columns);
  const factual = Object.entries<RawBuilder<unknown>>(facts ?? {});
  const keyColumn = sql.ref(fields.find(({ field }) => field === key)?.column ?? key);
  const selected = sql.join([
    ...fields.map(
      ({ field, column, read }) => sql`${read(sql.ref(`${table}.${column}`))} as ${sql.id(field)}`,
    ),
    ...factual.map(([name, fact]) => sql`${fact} as ${sql.ref(name)}`),
  ]);
  return {
    async load(db, keys, organisation) {
      const wanted = keys ?? null;
      const within =
        organisation === undefined
          ? sql`true`
          : sql`organisation_id = (select id from organisations where slug = ${organisation})`;
      const { rows } = await sql<Row>`
        select ${id} as id, owner, ${selected} from ${sql.table(table)}
         where (${wanted}::text[] is null or ${keyColumn}::text = any(${wanted}::text[])) and ${within}
         order by ${keyColumn}`.execute(db);
      return rows.map((row) => ({
        id: row.id,
        owner: row.owner,
        object: objectOf(fields, row) as T,
        facts: Object.fromEntries(factual.map(([name]) => [name, row[name]])) as Facts,
      }));
    },
    upsert: (batch, objects) => upsert(batch, objects, { table, keyColumn, fields, derived }),
    async adopt(tx, keys) {
      await sql`
        update ${sql.table(table)} set owner = 'fleet'
         where owner = 'portal' and ${keyColumn}::text = any(${keys}::text[])`.execute(tx);
    },
    async delete(tx, rows) {
      const ids = rows.map((row) => row.id);
      await sql`delete from ${sql.table(table)} where id = any(${ids}::bigint[])`.execute(tx);
    },
  };
}

/**
 * Looks up what rows `t` of a table have in common by a column, such as their number. It is made once for all objects: made
 * for each, without an index, it would read the table each time.
 */
export function gathered(
  rows: RawBuilder<unknown>,
  column: string,
  value: RawBuilder<unknown>,
): (id: RawBuilder<unknown>) => RawBuilder<unknown> {
  const by = sql.ref(`t.${column}`);
  return (id) => sql`((
    select jsonb_object_agg(key, value)
      from (select ${by}::text as key, ${value} as value from ${rows} and ${by} is not null group by 1) as found
    ) -> ${id}::text)`;
}

interface Upserting {
  readonly table: string;
  readonly keyColumn: RawBuilder<unknown>;
  readonly fields: readonly FieldColumn[];
  readonly derived: Readonly<Record<string, RawBuilder<unknown>>>;
}

async function upsert(
  { tx, owner }: Batch,
  objects: readonly object[],
  { table, keyColumn, fields, derived }: Upserting,
): Promise<void> {
  const rows = objects.map((object) =>
    Object.fromEntries(fields.map(({ field, path }) => [field, memberOf(object, path)])),
  );
  const written = [
    ...fields.map(({ field, column, write }) => [sql.ref(column), write(given(field))] as const),
    ...Object.entries(derived).map(([column, value]) => [sql.ref(column), value] as const),
  ];
  const columns = written.map(([column]) => column);
  const values = written.map(([, value]) => value);
  const typed = fields.map(({ field, type }) => sql`${sql.id(field)} ${sql.raw(type)}`);
  const changes = columns.map((column) => sql`${column} = excluded.${column}`);
  await sql`
    insert into ${sql.table(table)} (${sql.join(columns)}, owner)
    select ${sql.join(values)}, ${owner}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (${sql.join(typed)})
    on conflict (${keyColumn}) do update set ${sql.join(changes)}`.execute(tx);
}

/** The value of a field in what is written: `given('limits/memory')`. */
export function given(field: string): RawBuilder<unknown> {
  return sql`given.${sql.id(field)}`;
}

interface FieldColumn extends MappedColumn {
  /** `limits/memory` */
  readonly field: string;
  readonly path: readonly string[];
}

/** The columns of all fields, those of objects too. */
function fieldColumns(columns: object, within: readonly string[] = []): FieldColumn[] {
  return Object.entries(columns as Readonly<Record<string, Column>>).flatMap(([name, column]) => {
    const path = [...within, name];
    if (typeof column === 'object' && !Array.isArray(column) && !('read' in column)) {
      return fieldColumns(column, path);
    }
    return [{ ...mappingOf(name, column), field: path.join('/'), path }];
  });
}

function mappingOf(field: string, column: Column): MappedColumn {
  if (typeof column === 'object' && 'read' in column) return column;
  const [name, type] = typeof column === 'string' ? ([field, column] as const) : column;
  const same = (value: RawBuilder<unknown>) => value;
  return { column: name, type, read: READ[type] ?? same, write: same };
}

function memberOf(object: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => Object(value)[name], object);
}

function objectOf(fields: readonly FieldColumn[], row: Row): object {
  const object: Record<string, unknown> = {};
  for (const { field, path } of fields) {
    const [last = '', ...outer] = path.toReversed();
    const inside = outer
      .toReversed()
      .reduce((within, name) => (within[name] ??= {}) as Record<string, unknown>, object);
    inside[last] = row[field];
  }
  return object;
}

interface Row {
  readonly id: number;
  readonly owner: Owner;
  readonly [field: string]: unknown;
}
