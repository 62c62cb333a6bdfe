import { nameToBytes } from '@portcullis/core/game-servers/files/path.ts';
import { filesMessages } from '../../../messages/files.ts';

const text = filesMessages.names;

/** A path inside a server's folder; empty is the folder itself. */
export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export interface Crumb {
  readonly name: string;
  readonly path: string;
}

/** The folders on the way to a path, without the folder of the server, and the path itself last. */
export function crumbsOf(path: string): readonly Crumb[] {
  const names = path === '' ? [] : path.split('/');
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join('/') }));
}

/** Whether `path` is `folder` itself or inside of it. */
export function isWithin(folder: string, path: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** Endings of two parts, which a copy keeps together. */
const ENDING = /(?:\.tar)?\.[^.]+$/;

/** The length of a name without its ending: what a rename selects. */
export function stemLength(name: string): number {
  const ending = ENDING.exec(name)?.index ?? 0;
  return ending > 0 ? ending : name.length;
}

/** A name that is not taken yet: `world copy`, `world copy 2`, `map copy.jar`. */
export function copyName(name: string, taken: ReadonlySet<string>): string {
  const stem = name.slice(0, stemLength(name));
  const ending = name.slice(stem.length);
  for (let count = 1; ; count += 1) {
    const copy = `${stem} ${text.copy}${count === 1 ? '' : ` ${count}`}${ending}`;
    if (!taken.has(copy)) return copy;
  }
}

/** Why a file cannot have this name; null when it can. Names with slashes are several. */
export function nameRefusal(name: string): string | null {
  if (name === '') return text.empty;
  for (const part of name.split('/')) {
    if (part === '' || part === '.' || part === '..') return text.dots;
    if (nameToBytes(part) === null) return text.impossible;
  }
  return null;
}
