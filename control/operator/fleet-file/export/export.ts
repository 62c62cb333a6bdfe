import type { Db } from '../../../db/database.ts';
import {
  type Current,
  loadObjects,
  type Outside,
  type StoredObjects,
  type WrittenObjects,
  type WrittenPlace,
  writeObjects,
} from '../../index.ts';
import { planFleet } from '../apply/apply.ts';
import { type Mistake, MistakeList, type Position } from '../mistakes.ts';
import { checkFleet } from '../parse/parse.ts';
import type { EggSource } from '../read/egg-files.ts';
import type { Places } from '../read/places.ts';
import { readChecked, readEggs } from '../read/read.ts';
import { locateYaml } from '../read/yaml-source.ts';
import { describeExport } from './comments.ts';
import { renderFile } from './text.ts';

export interface ExportOptions {
  /** Where the file will be: eggs are looked for beside it. */
  readonly path: string;
  readonly eggs: EggSource;
}

export interface ExportedFleet {
  readonly text: string;
  /** Objects that the file does not have, and why: they stay as they are. */
  readonly left: WrittenObjects['left'];
  /** Variables of the environment that the file needs. */
  readonly variables: readonly string[];
  /** Changes and mistakes of a plan of the file: with one, the file is not what is there. */
  readonly differences: readonly string[];
}

/** Each round leaves out what the one before found. */
const MOST_ROUNDS = 100;

/**
 * Writes a fleet file of all that is declared, and plans it with `--adopt`, as its reader would. What was made by hand and a file
 * cannot have so that nothing changes is left out, and stays as it is.
 */
export async function exportFleet(
  db: Db,
  { path, eggs: source }: ExportOptions,
): Promise<ExportedFleet> {
  const stored = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute((tx) => loadObjects(tx));
  const outside = await findOutside(stored, path, source);
  const without = new Map<Current<object>, string>();
  for (let round = 1; ; round += 1) {
    const written = writeObjects(stored, without, outside);
    const text = renderFile(written.file, describeExport(stored, written, outside));
    const { found, places } = await tryFile(db, text, written, { path, eggs: source });
    const entries = placedEntries(written.places, places);
    const before = without.size;
    const isLast = round === MOST_ROUNDS;
    const differences = found.filter((one) => {
      if (isLast) return true;
      const byHand = entryAt(entries, one)?.of.filter(({ owner }) => owner === 'portal') ?? [];
      for (const current of byHand) without.set(current, one.message);
      return byHand.length === 0;
    });
    if (without.size > before) continue;
    return {
      text,
      left: written.left,
      variables: written.secrets.map(({ name }) => name),
      differences: differences.map(({ message }) => message),
    };
  }
}

/** The eggs that the file will find by their names. */
async function findOutside(
  { server, 'library-egg': library }: StoredObjects,
  path: string,
  source: EggSource,
): Promise<Outside> {
  const own = library.map(({ object }) => object);
  const names = server.map(({ object }) => object.egg);
  const eggs = await readEggs(own, names, path, source);
  return { eggs, compile: source.compile, mayKeepEggs: true };
}

/** A mistake, or a change that applying the file would make. */
type Finding = Position & Pick<Mistake, 'message'>;

/** Reads the text as a file and plans it. */
async function tryFile(
  db: Db,
  text: string,
  { secrets }: WrittenObjects,
  { path, eggs }: ExportOptions,
): Promise<{ readonly found: readonly Finding[]; readonly places: Places | null }> {
  const env = Object.fromEntries(secrets.map(({ name, secret }) => [name, secret]));
  const checked = checkFleet(text, path, env);
  if (!checked.ok) {
    const located = locateYaml(text, env, new MistakeList(path));
    return { found: checked.mistakes, places: located?.places ?? null };
  }
  const { places } = checked.located;
  const read = await readChecked(checked, path, eggs);
  if (!read.ok) return { found: read.mistakes, places };
  const { changes, mistakes } = await planFleet(db, read.value, { adopt: true });
  if (mistakes.length > 0) return { found: mistakes, places };
  const differing = changes.map(({ at, sign, subject, words }) => ({
    ...at,
    message: `applying it would change this: ${[`${sign} ${subject}`, words].filter((part) => part !== '').join(': ')}`,
  }));
  return { found: differing, places };
}

interface PlacedEntry extends WrittenPlace {
  readonly at: Position;
}

/** The entries in the order of the text. */
function placedEntries(entries: readonly WrittenPlace[], places: Places | null): PlacedEntry[] {
  return entries
    .flatMap((entry) => {
      const at = places?.of(entry.pointer);
      return at === undefined ? [] : [{ ...entry, at }];
    })
    .toSorted((a, b) => comparePositions(a.at, b.at));
}

/** The entry that a position is in: the last one that begins before it. */
function entryAt(entries: readonly PlacedEntry[], at: Position): PlacedEntry | undefined {
  return entries.findLast((entry) => comparePositions(entry.at, at) <= 0);
}

function comparePositions(a: Position, b: Position): number {
  return a.line - b.line || a.column - b.column;
}
