import { type CheckedFleet, checkFleet, type FleetFileResult, parseFleet } from '../parse/parse.ts';
import type { EggFile } from '../../../game-servers/index.ts';
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
  return checked.ok ? readChecked(checked, path, source) : checked;
}

/** Reads the eggs of a checked file, and what it wants. */
export async function readChecked(
  checked: CheckedFleet,
  path: string,
  source: EggSource,
): Promise<FleetFileResult> {
  const { library = [] } = checked.text;
  const eggs = await readEggs(library, checked.eggs, path, source);
  return parseFleet(checked, path, { eggs, compile: source.compile, mayKeepEggs: true });
}

/** The eggs of a file by their names: its own ones, and others from its folder or the shipped ones. */
export async function readEggs(
  library: readonly { readonly name: string; readonly document: object }[],
  names: readonly string[],
  path: string,
  source: EggSource,
): Promise<ReadonlyMap<string, EggFile>> {
  const { read } = libraryOf(source);
  const added = library.map(({ name, document }) => [name, read(document)] as const);
  const own = new Map(added);
  const others = names.filter((name) => !own.has(name));
  return new Map([...(await loadEggs(others, path, source)), ...own]);
}
