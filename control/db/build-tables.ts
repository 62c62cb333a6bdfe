import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Db, openDatabase } from './database.ts';
import { migrate } from './migrate.ts';
import { startTestCluster } from './testing.ts';

/**
 * Writes generated/tables.ts: the tables of a migrated database as kysely sees them. With `--check` only compares, and
 * fails when they differ.
 */
const PATH = join(import.meta.dirname, 'generated', 'tables.ts');
/** The keys of `ColumnTypes`. */
const typed = new Set(
  [
    ...readFileSync(join(import.meta.dirname, 'schema.ts'), 'utf8').matchAll(
      /^ {2}'(\w+\.\w+)':/gm,
    ),
  ].map(([, key]) => key),
);

interface Column {
  readonly table: string;
  readonly name: string;
  /** The type in `pg_type`; arrays begin with an underscore. */
  readonly type: string;
  readonly nullable: boolean;
  /** An identity or a generated column: never written. */
  readonly computed: boolean;
  readonly hasDefault: boolean;
  /** The labels of an enum, or the values of a check such as `action in ('allow', 'deny')`; else null. */
  readonly values: readonly string[] | null;
}

/**
 * bigint reads as number, timestamptz as Date (`infinity` as the last Date there is), and inet, cidr and tstzrange as
 * PostgreSQL's text: a cidr always with its length, a single inet without.
 */
const TYPES: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  cidr: 'string',
  float8: 'number',
  inet: 'string',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  jsonb: 'unknown',
  text: 'string',
  timestamptz: 'Date',
  tstzrange: 'string',
  uuid: 'string',
  xid8: 'string',
};

const cluster = await startTestCluster();
try {
  const db = openDatabase({ url: cluster.url, poolSize: 1 });
  try {
    await migrate(db);
    const text = render(await loadColumns(db));
    if (typed.size > 0) throw new Error(`schema.ts types columns that do not exist: ${[...typed]}`);
    if (!process.argv.includes('--check')) {
      writeFileSync(PATH, text);
    } else if (!existsSync(PATH) || readFileSync(PATH, 'utf8') !== text) {
      console.error(`${PATH} is not what the migrations make: run npm run build:tables`);
      process.exitCode = 1;
    }
  } finally {
    await db.destroy();
  }
} finally {
  await cluster.stop();
}

async function loadColumns(db: Db): Promise<Column[]> {
  const { rows } = await sql<Column & { readonly check: string | null }>`
    select c.relname as table, a.attname as name, t.typname as type, not a.attnotnull as nullable,
           a.attidentity <> '' or a.attgenerated <> '' as computed, a.atthasdef as "hasDefault",
           (select json_agg(enumlabel order by enumsortorder) from pg_enum where enumtypid = t.oid) as values,
           (select pg_get_constraintdef(k.oid) from pg_constraint k
             where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
               and pg_get_constraintdef(k.oid) like '%= ANY (ARRAY[%' limit 1) as check
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'migrations'
     order by c.relname, a.attnum`.execute(db);
  return rows.map(({ check, ...column }) => ({
    ...column,
    values: column.values ?? listed(check),
  }));
}

/** The values in `CHECK ((action = ANY (ARRAY['allow'::text, 'deny'::text])))`. */
function listed(check: string | null): string[] | null {
  return check === null
    ? null
    : [...check.matchAll(/'([^']*)'::text/g)].map(([, value]) => value ?? '');
}

function render(columns: readonly Column[]): string {
  const tables = [...Map.groupBy(columns, ({ table }) => table)].map(
    ([table, own]) =>
      `  ${table}: {\n${own.map((column) => `    ${column.name}: ${typeOf(column)};\n`).join('')}  };\n`,
  );
  return `// Made by npm run build:tables from the migrations and ../schema.ts; do not edit.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
import type { ColumnTypes } from '../schema.ts';

/** jsonb: written as JSON text, because the driver would make a PostgreSQL array of a JavaScript one. */
type Json<T> = ColumnType<T, string, string>;
type JsonWithDefault<T> = ColumnType<T, string | undefined, string>;

/** The tables of migrations/ in the names of the SQL. */
export interface Schema {
${tables.join('')}}
`;
}

function typeOf(column: Column): string {
  const value = valueOf(column);
  const nullable = column.nullable ? `${value} | null` : value;
  if (column.type === 'jsonb') {
    return column.hasDefault
      ? `JsonWithDefault<${nullable}>`
      : `Json<${value}>${column.nullable ? ' | null' : ''}`;
  }
  if (column.computed) return `GeneratedAlways<${nullable}>`;
  return column.hasDefault ? `Generated<${nullable}>` : nullable;
}

function valueOf({ table, name, type, values }: Column): string {
  const key = `${table}.${name}`;
  if (typed.delete(key)) return `ColumnTypes['${key}']`;
  if (values !== null) return values.map((value) => `'${value}'`).join(' | ');
  const known = TYPES[type.replace(/^_/, '')];
  if (known === undefined)
    throw new Error(`No TypeScript type for ${type} of ${table}.${name}: add it to TYPES.`);
  return type.startsWith('_') ? `${known}[]` : known;
}
