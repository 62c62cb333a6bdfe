import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { aboutEgg, NO_ABOUT } from '@portcullis/core/game-servers/egg-library/about.ts';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import { compilePattern } from '@portcullis/core/game-servers/eggs/re2.ts';
import type { PatternCompiler } from '@portcullis/core/game-servers/eggs/rules.ts';
import type { EggFile, FoundEgg } from '../../../game-servers/index.ts';
import type { EggLibrary } from '../../index.ts';
import { MAX_EGG_BYTES, readTextFile } from './text-file.ts';
import { parsePlainYaml } from './yaml-source.ts';

/** Where eggs come from that are not files next to the fleet file. */
export interface EggSource {
  /** Returns the path of a shipped egg, or null. */
  readonly shipped: (name: string) => string | null;
  /** Every name that `shipped` knows. */
  readonly names: () => readonly string[];
  /** Compiles `regex:` rules. Null when only the node checks them. */
  readonly compile: PatternCompiler | null;
}
export const NO_EGG_SOURCE: EggSource = { shipped: () => null, names: () => [], compile: null };

const EGGS = join(import.meta.dirname, '..', '..', '..', '..', 'eggs');

/** The eggs of this repository under their names in a fleet file: `eggs/<name>.json`. */
export const SHIPPED_EGGS: EggSource = {
  names: () =>
    readdirSync(EGGS)
      .filter((file) => file.endsWith('.json'))
      .map((file) => `eggs/${file}`),
  shipped: (name) => (SHIPPED_EGGS.names().includes(name) ? join(EGGS, basename(name)) : null),
  compile: compilePattern,
};

/** Loads each egg that a fleet file names, from the file's folder or else from the shipped eggs. Never rejects. */
export async function loadEggs(
  names: Iterable<string>,
  fleetPath: string,
  source: EggSource,
): Promise<ReadonlyMap<string, EggFile>> {
  const found = new Map<string, EggFile>();
  for (const name of new Set(names)) {
    found.set(name, await loadEgg(name, resolve(dirname(fleetPath), name), source));
  }
  return found;
}

async function loadEgg(name: string, path: string, source: EggSource): Promise<EggFile> {
  const local = await readTextFile(path, 'egg', MAX_EGG_BYTES);
  const shipped = source.shipped(name);
  const useShipped = !local.ok && local.missing && shipped !== null;
  const file = useShipped ? await readTextFile(shipped, 'egg', MAX_EGG_BYTES) : local;
  if (!file.ok) {
    if (!file.missing) return file;
    const reason = `There is no egg ${name}: not beside this file, and none of that name is shipped.`;
    return { ok: false, reason };
  }
  return eggOf(documentOf(file.text), source);
}

/** An egg of the library, the shipped ones alone: the name is not a path. */
export async function loadLibraryEgg(name: string, source: EggSource): Promise<EggFile> {
  const path = source.shipped(name);
  if (path === null) {
    const reason = `There is no egg ${name} in the library; there are ${source.names().join(', ')}.`;
    return { ok: false, reason };
  }
  return loadEgg(name, path, source);
}

/** The eggs for objects that are written by hand. */
export function libraryOf(source: EggSource): EggLibrary {
  return {
    find: (name) => loadLibraryEgg(name, source),
    names: () => source.names(),
    read: (value) => eggOf({ ok: true, value }, source),
    compile: source.compile,
  };
}

export type ReadEgg =
  | { readonly ok: true; readonly found: FoundEgg; readonly document: object }
  | Extract<EggFile, { readonly ok: false }>;

/** An egg that came as a text, JSON or YAML, with the document of it. */
export function parseEggText(text: string, source: EggSource): ReadEgg {
  const document = documentOf(text);
  const read = eggOf(document, source);
  if (!read.ok || !document.ok) return read.ok ? { ok: false, reason: NO_EGG } : read;
  return { ...read, document: Object(document.value) as object };
}

function eggOf(document: ReturnType<typeof documentOf>, source: EggSource): EggFile {
  if (document.ok && !isEgg(document.value)) return { ok: false, reason: NO_EGG };
  const parsed = document.ok ? parseEgg(document.value, source.compile) : document;
  if (!parsed.ok) {
    const reason = `This is no egg that can be used: ${parsed.reason.replace(/\.$/, '')}.`;
    return { ok: false, reason };
  }
  const { egg, notes } = parsed.value;
  const about = document.ok ? aboutEgg(document.value) : NO_ABOUT;
  return { ok: true, found: { egg, digest: digestOf(egg), notes, ...about } };
}

/** A path in a fleet file of others may name any file of this host: no reason quotes what is no egg. */
const NO_EGG =
  'This is no egg: an egg is JSON or YAML whose meta.version is PTDL_v1 or _v2, or PLCN_v1 to _v3.';

function isEgg(value: unknown): boolean {
  const { meta } = Object(value) as { readonly meta?: unknown };
  const { version } = Object(meta) as { readonly version?: unknown };
  return typeof version === 'string' && /^(?:PTDL|PLCN)_v\d$/.test(version);
}

/** Pelican exports YAML, others JSON. */
function documentOf(text: string): ReturnType<typeof parsePlainYaml> {
  if (!/^\ufeff?\s*[[{]/.test(text)) return parsePlainYaml(text);
  try {
    return { ok: true, value: JSON.parse(text.replace(/^\ufeff/, '')) as unknown };
  } catch {
    // YAML in braces; or neither, and then the reason names the line.
    return parsePlainYaml(text);
  }
}

/** Equal eggs have equal digests, in whichever version of the format they were written. */
function digestOf(egg: Egg): string {
  return createHash('sha256').update(JSON.stringify(egg, sortKeys)).digest('hex');
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
