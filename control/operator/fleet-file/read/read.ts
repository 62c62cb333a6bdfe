import { checkFleet, type FleetFileResult, parseFleet } from '../parse/parse.ts';
import { type EggSource, libraryOf, loadEggs, NO_EGG_SOURCE } from './egg-files.ts';
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
  const { read } = libraryOf(source);
  const { library = [] } = checked.text;
  const added = library.map(({ name, document }) => [name, read(document)] as const);
  const own = new Map(added);
  const others = checked.eggs.filter((name) => !own.has(name));
  const eggs = new Map([...(await loadEggs(others, path, source)), ...own]);
  return parseFleet(checked, path, { eggs, compile: source.compile });
}
