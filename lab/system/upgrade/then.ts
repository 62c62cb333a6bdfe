import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import pg from 'pg';
import { readableProgram } from '@portcullis/link/program/readable-program.ts';
import { findAccount } from '@portcullis/control/db/embedded/account.ts';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import type { Known } from './make-fixture.ts';

export const ROOT = join(import.meta.dirname, '..', '..', '..');
/** The commits from which people upgrade: each COMMIT.tar.gz that is here. */
export const FIXTURES: readonly string[] = globSync('*.tar.gz', { cwd: import.meta.dirname })
  .map((name) => basename(name, '.tar.gz'))
  .toSorted();
const WORKSPACE = '@portcullis';
/** Tests and their results, 20 MB. */
const LEFT_OUT = [':(exclude)lab', ':(exclude)bench'];

/** The end of what a test holds, such as the `TestContext` of node:test. */
interface Lifetime {
  readonly signal: AbortSignal;
}

/** A folder that the accounts of control and of the node may enter, for as long as a test. */
export function folderOf(t: Lifetime): string {
  const folder = mkdtempSync(join(scratchRoot(), 'portcullis-upgrade-'));
  // Aborted after the hooks of the test, which end what still writes there.
  t.signal.addEventListener('abort', () => rmSync(folder, { recursive: true, force: true }), {
    once: true,
  });
  chmodSync(folder, 0o711);
  return folder;
}

/** Why `programOf` cannot make the program of a commit, or false. A clone without history has it not. */
export function lacksCommit(commit: string): string | false {
  const { status } = spawnSync('git', git('cat-file', '-e', `${commit}^{commit}`));
  return status === 0 ? false : `this clone has no history: git fetch --unshallow brings ${commit}`;
}

/** Packages that only older versions import: a copy of this program for a closed folder is without them. */
const OF_OLDER_VERSIONS = ['js-yaml', 'argparse'];

/**
 * The checkout of an older commit as `git checkout` and `npm ci` would make it; its path. Its packages are those that this
 * checkout has installed, so it works for as long as their versions serve both.
 */
export function programOf(commit: string, folder: string): string {
  const checkout = join(folder, commit);
  mkdirSync(checkout);
  const maxBuffer = 1 << 28;
  const input = execFileSync('git', git('archive', commit, '.', ...LEFT_OUT), { maxBuffer });
  execFileSync('tar', ['-x', '-C', checkout], { input });
  const { root, node } = readableProgram();
  const packages = join(checkout, 'node_modules');
  for (const folder of [packages, join(packages, WORKSPACE), join(packages, '.bin')])
    mkdirSync(folder);
  symlinkSync(node, join(packages, '.bin', 'node'));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== WORKSPACE && !name.startsWith('.'))
      symlinkSync(join(root, 'node_modules', name), join(packages, name));
  for (const name of OF_OLDER_VERSIONS)
    if (!existsSync(join(packages, name)))
      cpSync(join(ROOT, 'node_modules', name), join(packages, name), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules', WORKSPACE)))
    if (name !== 'lab') symlinkSync(join('..', '..', name), join(packages, WORKSPACE, name));
  // Building the pages takes longer than everything else here.
  mkdirSync(join(checkout, 'portal', 'dist'));
  writeFileSync(join(checkout, 'portal', 'dist', 'index.html'), '');
  return checkout;
}

/** Whether this version has migrations that an older one lacks. */
export function migratesFrom(checkout: string): boolean {
  const count = (root: string) => globSync('control/db/migrations/*.sql', { cwd: root }).length;
  return count(ROOT) > count(checkout);
}

function git(...words: readonly string[]): string[] {
  return ['-c', 'safe.directory=*', '-C', ROOT, ...words];
}

/** An installation of a fixture. */
interface Then {
  /** The folder with those of its agents. */
  readonly home: string;
  readonly known: Known;
}

/**
 * Unpacks COMMIT.tar.gz, made by make-fixture.ts, and loads its dump into a database as if it had been made now: what has an
 * end has it as much later.
 */
export async function restoreThen(t: Lifetime, commit: string, url: string): Promise<Then> {
  const home = folderOf(t);
  execFileSync('tar', ['-C', home, '-xzf', join(import.meta.dirname, `${commit}.tar.gz`)]);
  const account = findAccount('portcullis');
  if (account === null) throw new Error('the first start as root makes the account');
  chownSync(join(home, 'node'), account.uid, account.gid);
  for (const name of ['node.credential', ...globSync('node/**', { cwd: home })])
    lchownSync(join(home, name), account.uid, account.gid);
  const known = JSON.parse(readFileSync(join(home, 'known.json'), 'utf8')) as Known;
  await load(url, readFileSync(join(home, 'database.sql'), 'utf8'), known.madeAt);
  return { home, known };
}

async function load(url: string, dump: string, madeAt: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('drop schema public cascade; create schema public');
    await client.query(dump);
    await client.query('reset all; set session_replication_role = replica');
    await client.query(`select create_partition(parent, now()) from unnest(array['attacks', 'attack_evidence']) parent
      where to_regclass(parent || to_char(now() at time zone 'UTC', '_YYYY_MM')) is null`);
    const { rows } = await client.query<{ table: string; column: string }>(`
      select c.relname as table, a.attname as column
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and a.atttypid = 'timestamptz'::regtype and a.attgenerated = ''`);
    if (rows.length < 50) throw new Error('the dump has no tables');
    for (const { table, column } of rows)
      await client.query(`update ${table} set ${column} = ${column} + (now() - $1::timestamptz)`, [
        madeAt,
      ]);
  } finally {
    await client.end();
  }
}
