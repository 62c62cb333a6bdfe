import { checkFleet, type FleetFileResult, parseFleet } from '../parse/parse.ts';
import { type EggSource, loadEggs, NO_EGG_SOURCE } from './egg-files.ts';
import { MAX_FLEET_BYTES, readTextFile } from './text-file.ts';
import type { Environment } from './yaml-source.ts';

/** Reads and parses a fleet file and its eggs; returns what it wants, or all its mistakes. Changes nothing. */
export async function readFleetFile(
  path: string,
  env: Environment,
  { eggs: source = NO_EGG_SOURCE }: { readonly eggs?: EggSource } = {},
): Promise<FleetFileResult> {
  const file = await readTextFile(path, 'file', MAX_FLEET_BYTES);
  if (!file.ok) {
    return { ok: false, mistakes: [{ file: path, line: 1, column: 1, message: file.reason }] };
  }
  const checked = checkFleet(file.text, path, env);
  if (!checked.ok) return checked;
  const eggs = await loadEggs(checked.eggs, path, source);
  return parseFleet(checked, path, { eggs, compile: source.compile });
}
