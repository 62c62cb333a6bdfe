import type { FleetFile } from '../desired.ts';
import { checkFleet, type FleetFileResult, parseFleet } from '../parse/parse.ts';
import { type EggSource, loadEggs, NO_EGG_SOURCE } from './egg-files.ts';
import { eggTag, type ParsedCache, parsedKey } from './parsed-cache.ts';
import { MAX_FLEET_BYTES, readTextFile } from './text-file.ts';
import type { Environment } from './yaml-source.ts';

export interface ReadOptions {
  readonly eggs?: EggSource;
  /** Used for large files. */
  readonly cache?: ParsedCache | null;
  /** From which number of characters on a file is large. */
  readonly cachedFrom?: number;
}

const CACHED_FROM = 256 * 1024;

/** Reads and parses a fleet file and its eggs; returns what it wants, or all its mistakes. Changes nothing. */
export async function readFleetFile(
  path: string,
  env: Environment,
  { eggs: source = NO_EGG_SOURCE, cache = null, cachedFrom = CACHED_FROM }: ReadOptions = {},
): Promise<FleetFileResult> {
  const file = await readTextFile(path, 'file', MAX_FLEET_BYTES);
  if (!file.ok) {
    return { ok: false, mistakes: [{ file: path, line: 1, column: 1, message: file.reason }] };
  }
  const isCached = cache !== null && file.text.length >= cachedFrom;
  const key = isCached ? await parsedKey(file.text, path, env) : null;
  const known = key && (await loadKnown(cache, key, path, source));
  if (known !== null) return { ok: true, value: known };
  const checked = checkFleet(file.text, path, env);
  if (!checked.ok) return checked;
  const eggs = await loadEggs(checked.eggs, path, source);
  const parsed = parseFleet(checked, path, { eggs, compile: source.compile });
  if (parsed.ok && key !== null) {
    const tags = [...eggs].map(([name, egg]) => [name, eggTag(egg)] as const);
    await cache?.save(key, { file: parsed.value, eggs: tags });
  }
  return parsed;
}

/** What the cache has of this file, if its eggs are still the same. */
async function loadKnown(
  cache: ParsedCache | null,
  key: Buffer,
  path: string,
  source: EggSource,
): Promise<FleetFile | null> {
  const known = (await cache?.load(key)) ?? null;
  if (known === null) return null;
  const eggs = await loadEggs(
    known.eggs.map(([name]) => name),
    path,
    source,
  );
  return known.eggs.every(([name, tag]) => eggTag(eggs.get(name)) === tag) ? known.file : null;
}
