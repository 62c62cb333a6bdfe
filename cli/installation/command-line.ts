import { accessSync, constants } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { SYSTEM_INSTALLATION } from './choose.ts';

/** The URL of the control plane for commands without `--url`. */
export const DEFAULT_URL = 'http://127.0.0.1:8080';
const LAUNCHER = join(import.meta.dirname, '..', '..', 'portcullis');

interface Target {
  /** The installation that the command works on; --data is left out where it is the default of root. */
  readonly dataDir?: string;
  /** The URL of the control plane, if it was given; left out where it is the default. */
  readonly url?: string | undefined;
  /** It needs root. */
  readonly asRoot?: boolean;
}

/** A command of ours as the operator can paste it into the shell in which this one was started, or into another. */
export function commandLine(words: readonly string[], target: Target = {}): string {
  const { dataDir = SYSTEM_INSTALLATION, url = DEFAULT_URL, asRoot = false } = target;
  const isRoot = process.getuid?.() === 0 && process.env['SUDO_USER'] === undefined;
  return [
    ...(asRoot && !isRoot ? sudo() : []),
    program(),
    ...words.map(quote),
    ...(dataDir === SYSTEM_INSTALLATION ? [] : ['--data', quote(dataDir)]),
    ...(url === DEFAULT_URL ? [] : ['--url', quote(url)]),
  ].join(' ');
}

/** The environment of sudo has no DATABASE_URL of ours, and a command line must not show its password. */
function sudo(): string[] {
  return ['sudo', ...(process.env['DATABASE_URL'] ? ['--preserve-env=DATABASE_URL'] : [])];
}

/** The program as found on the PATH, else by the path of this checkout. */
function program(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  if (folders.some((folder) => isExecutable(join(folder, 'portcullis')))) return 'portcullis';
  const path = relative(process.cwd(), LAUNCHER);
  return path === 'portcullis' ? './portcullis' : quote(LAUNCHER);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** For a POSIX shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
