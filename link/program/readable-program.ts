import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { findPackages } from './packages.ts';

/** A checkout, an installed package, or a copy of one. */
export interface Program {
  /** The folder with the rooms and `node_modules`. */
  readonly root: string;
  /** The Node.js that runs it. */
  readonly node: string;
}

/** The program that runs now. */
export const RUNNING: Program = {
  root: realpathSync(join(import.meta.dirname, '..', '..')),
  node: process.execPath,
};

/** Where copies are kept; root's alone to write. */
const COPIES = '/var/cache/portcullis';
const COPY = /^program-[0-9a-f]{16}$/;
/** An account that systems assign to nobody: what it can read, every account can. */
const UNUSED_ACCOUNT = 65_533;
/** The files that run beside the packages. */
const BESIDE_PACKAGES = ['package.json', 'portcullis', 'eggs', 'examples', 'docs', 'portal/dist'];
/**
 * 110 MB of networks of countries and ASNs, linked instead of copied: control opens the files before it drops root.
 */
const LINKED = /\/node_modules\/@ip-location-db\/[^/]+$/;
/** Headers and manuals of Node.js, 60 MB. */
const LEFT_OUT = /\/node_modules\/(?:node-linux-[^/]+\/(?:include|share)|\.cache)$/;
/** A copy that is younger may not have been started yet, and one that is being made may not be finished. */
const YOUNG_MS = 3_600_000;

let provided: Program | undefined;

/**
 * The running program at a place that every account of this host may read. It is the running one wherever its files and
 * all folders above them are open to others. Otherwise, such as in a clone below `/root` or in a home of mode 0700,
 * it is a copy that belongs to root: processes that drop root need it, because they load files as long as they run.
 * Call it as root; another account changes to nobody, so it gets what runs. Throws if the copy cannot be made.
 */
export function readableProgram(program: Program = RUNNING, copies: string = COPIES): Program {
  if (process.getuid?.() !== 0 || dirname(program.root) === copies) return program;
  if (program === RUNNING && provided !== undefined) return provided;
  const parts = partsOf(program.root);
  const readable = isReadableByAll(parts) ? program : copyOf(program, parts, copies);
  if (program === RUNNING) provided = readable;
  return readable;
}

function partsOf(root: string): string[] {
  const beside = BESIDE_PACKAGES.map((name) => join(root, name)).filter((path) => existsSync(path));
  return [...beside, ...findPackages(root)];
}

/** The kernel is asked, as an account without any rights: it knows ACLs and mounts. */
function isReadableByAll(parts: readonly string[]): boolean {
  const account = [`--reuid=${UNUSED_ACCOUNT}`, `--regid=${UNUSED_ACCOUNT}`, '--clear-groups'];
  const search = ['find', ...parts, '!', '-readable', '-print', '-quit'];
  const { status, stdout } = spawnSync(
    'setpriv',
    [...account, '--inh-caps=-all', '--', ...search],
    { cwd: '/', encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  // A folder that cannot be entered makes `find` fail.
  return status === 0 && stdout === '';
}

interface Entry {
  readonly path: string;
  readonly stats: Stats;
}

/** Every folder, file and symbolic link of the parts; parents first. */
function entriesOf(parts: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  const seen = new Set<string>();
  const add = (path: string): void => {
    if (seen.has(path) || LEFT_OUT.test(path)) return;
    seen.add(path);
    const stats = lstatSync(path);
    entries.push({ path, stats });
    if (!stats.isDirectory() || LINKED.test(path)) return;
    // Packages below it that nothing needs stay out; needed ones are parts themselves.
    for (const name of readdirSync(path)) if (name !== 'node_modules') add(join(path, name));
  };
  for (const part of parts) add(part);
  return entries;
}

/** The copy of these very files, made if there is none, and without those of earlier versions. */
function copyOf({ root, node }: Program, parts: readonly string[], copies: string): Program {
  prepareFolder(copies);
  const entries = entriesOf(parts);
  const hash = createHash('sha256').update(`${root}\n`);
  for (const { path, stats } of entries)
    hash.update(`${path}\n${stats.size} ${stats.mtimeMs} ${stats.ino} ${stats.mode}\n`);
  const name = `program-${hash.digest('hex').slice(0, 16)}`;
  const folder = join(copies, name);
  if (!existsSync(folder)) {
    removeUnused(copies);
    try {
      makeCopy(root, entries, folder, (making) => linkRooms(root, making));
    } catch (cause) {
      throw new Error(
        `${root} may be read by its owner only, and no copy of it for the account of Portcullis can be made in ${copies} (270 MB): make room there, or move the checkout to a folder that others may read, such as one below /opt`,
        { cause },
      );
    }
  }
  const place = relative(root, realpathSync(node));
  // A Node.js of the system is where it was.
  return { root: folder, node: place.startsWith('..') ? node : join(folder, place) };
}

/**
 * Copies a folder, readable for every account, with what `finish` adds. `to` appears as a whole or not at all, also
 * after a power failure.
 */
export function copyReadable(from: string, to: string, finish: (making: string) => void): void {
  makeCopy(from, entriesOf([from]), to, finish);
}

/** Whoever may write there could have root run a program of his. */
function prepareFolder(copies: string): void {
  if (!existsSync(copies)) {
    mkdirSync(copies, { recursive: true });
    chmodSync(copies, 0o755);
  }
  const { uid, mode } = lstatSync(copies);
  if (uid !== 0 || (mode & 0o022) !== 0 || (mode & 0o555) !== 0o555) {
    throw new Error(
      `${copies}, where Portcullis copies itself for accounts that may not read ${RUNNING.root}, must belong to root, and be open for others to read but not to write: chown root: ${copies} && chmod 755 ${copies}`,
    );
  }
}

/** Under another name until it is complete and on the disk. */
function makeCopy(
  root: string,
  entries: readonly Entry[],
  folder: string,
  finish: (making: string) => void,
): void {
  const making = `${folder}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  try {
    for (const entry of entries) copyEntry(entry, join(making, relative(root, entry.path)));
    finish(making);
    spawnSync('sync', ['--file-system', making], { stdio: 'ignore' });
    renameSync(making, folder);
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    // Another start made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

function copyEntry({ path, stats }: Entry, to: string): void {
  if (stats.isDirectory() && !LINKED.test(path)) return makeFolder(to);
  makeFolder(dirname(to));
  if (LINKED.test(path)) return symlinkSync(path, to);
  if (stats.isSymbolicLink()) return symlinkSync(readlinkSync(path), to);
  if (!stats.isFile()) return;
  copyFileSync(path, to, constants.COPYFILE_FICLONE);
  chmodSync(to, (stats.mode & 0o100) === 0 ? 0o644 : 0o755);
}

/** With its mode whatever the umask is. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
  chmodSync(folder, 0o755);
}

/** npm's links by which rooms import one another. */
function linkRooms(root: string, making: string): void {
  const scope = join('node_modules', '@portcullis');
  makeFolder(join(making, scope));
  for (const name of readdirSync(join(root, scope))) {
    if (existsSync(join(making, name))) {
      symlinkSync(join('..', '..', name), join(making, scope, name));
    }
  }
}

/** Removes copies of which no process runs; what is left of a copy that was interrupted too. */
function removeUnused(copies: string): void {
  const running = new Set(runningFolders());
  for (const name of readdirSync(copies)) {
    const folder = join(copies, name);
    if (!COPY.test(name.replace(/\.making-\d+$/, '')) || running.has(folder)) continue;
    if (Date.now() - lstatSync(folder).mtimeMs < YOUNG_MS) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folders of the copies whose Node.js some process runs. */
function runningFolders(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const [folder] =
        /^.*?\/program-[0-9a-f]{16}(?=\/)/.exec(readlinkSync(`/proc/${pid}/exe`)) ?? [];
      return folder === undefined ? [] : [folder];
    } catch {
      return [];
    }
  });
}
