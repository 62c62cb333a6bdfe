import { type EggShelf, EMPTY_SHELF, loadEggs } from './egg-files.ts';
import { type FleetFileResult, namedEggs, parseFleet } from '../parse/parse.ts';
import { readBounded } from './read-bounded.ts';
import { type Environment, LARGEST_FILE_BYTES } from './yaml-source.ts';

/** Reads a fleet file and its eggs: what it wants, or everything that is wrong with it. Changes nothing. */
export async function readFleetFile(
  path: string,
  env: Environment,
  shelf: EggShelf = EMPTY_SHELF,
): Promise<FleetFileResult> {
  const refuse = (message: string): FleetFileResult => ({
    ok: false,
    mistakes: [{ file: path, line: 1, column: 1, message }],
  });
  let bytes: Buffer;
  try {
    bytes = await readBounded(path, LARGEST_FILE_BYTES);
  } catch (error) {
    return refuse(`The file cannot be read (${codeOf(error)}).`);
  }
  if (bytes.length > LARGEST_FILE_BYTES) {
    return refuse(`The file is larger than ${LARGEST_FILE_BYTES / 1024 / 1024} MiB.`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('The file is not text in UTF-8.');
  }
  const eggs = await loadEggs(namedEggs(text, env), path, shelf);
  return parseFleet(text, path, env, { eggs, compile: shelf.compile });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown';
}
