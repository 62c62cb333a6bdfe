import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import type { PatternCompiler } from '@portcullis/core/game-servers/eggs/rules.ts';
import type { FoundEgg } from '../desired.ts';
import { readBounded } from './read-bounded.ts';

/** What a fleet file names beside itself. */
export interface EggShelf {
  /** The path of a shipped egg; null: none of that name. */
  readonly shipped: (name: string) => string | null;
  /** For `regex:` rules; null: they are looked at on the node. */
  readonly compile: PatternCompiler | null;
}
export const EMPTY_SHELF: EggShelf = { shipped: () => null, compile: null };

export type EggFile = { readonly ok: true; readonly found: FoundEgg } | EggMissing;
interface EggMissing {
  readonly ok: false;
  /** A sentence. */
  readonly reason: string;
}

const LARGEST_EGG_BYTES = 4 * 1024 * 1024;

/** Each egg that a fleet file names, from beside it, else from those shipped. Never rejects. */
export async function loadEggs(
  names: Iterable<string>,
  fleetPath: string,
  shelf: EggShelf,
): Promise<ReadonlyMap<string, EggFile>> {
  const found = new Map<string, EggFile>();
  for (const name of new Set(names)) {
    const beside = resolve(dirname(fleetPath), name);
    const shipped = shelf.shipped(name);
    const text = (await readText(beside)) ?? (shipped === null ? null : await readText(shipped));
    found.set(name, text === null ? missing(name) : judge(text, shelf.compile));
  }
  return found;
}

/** null: there is no such file. */
async function readText(path: string): Promise<string | EggMissing | null> {
  try {
    const bytes = await readBounded(path, LARGEST_EGG_BYTES);
    if (bytes.length > LARGEST_EGG_BYTES) {
      return no(`The egg is larger than ${LARGEST_EGG_BYTES / 1024 / 1024} MiB.`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return no('The egg is not text in UTF-8.');
    return no(`The egg cannot be read (${code}).`);
  }
}

function judge(text: string | EggMissing, compile: PatternCompiler | null): EggFile {
  if (typeof text !== 'string') return text;
  const parsed = parseEgg(text, compile);
  if (!parsed.ok)
    return no(`This is no egg that can be used: ${parsed.reason.replace(/\.$/, '')}.`);
  const { egg, notes } = parsed.value;
  return { ok: true, found: { egg, digest: digestOf(egg), notes } };
}

function missing(name: string): EggMissing {
  return no(`There is no egg ${name}: not beside this file, and none of that name is shipped.`);
}

function no(reason: string): EggMissing {
  return { ok: false, reason };
}

/** Equal eggs have equal digests, whichever version of a format they were written in. */
function digestOf(egg: Egg): string {
  return createHash('sha256').update(JSON.stringify(egg, sorted)).digest('hex');
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
