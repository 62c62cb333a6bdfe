import { parseDenylist } from '@portcullis/core/game-servers/files/denylist.ts';
import {
  type FilePath,
  formatPath,
  RESERVED_NAME,
} from '@portcullis/core/game-servers/files/path.ts';
import type { FileAnswerOf, FileOperationOf } from '@portcullis/link/messages/files.ts';
import { readWhole, Refusal } from '../../server-folder/folder.ts';
import type { Gate } from '../gate.ts';
import { TreeWalk, type Visit } from '../tree.ts';
import { isShort, sizeOf, typeOf } from './describe.ts';
import { pathOf } from './list.ts';

const MAX_ENTRIES = 500_000;
/** A larger file is not searched in. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** The bytes that one search reads. */
const MAX_READ_BYTES = 256 * 1024 * 1024;
const MAX_LINE = 400;
const LINE_FEED = 10;
/** Hits of one file, so that one log does not fill the answer. */
const MAX_LINES_OF_FILE = 20;

type Found = FileAnswerOf<'found'>['found'][number];

/** Searches a folder by name, or in the text of its files, until the signal ends it. Denied files are left out. */
export async function search(
  gate: Gate,
  operation: FileOperationOf<'search'>,
  signal: AbortSignal,
): Promise<FileAnswerOf<'found'>> {
  const base = pathOf(operation.path);
  const { name, text, limit } = operation;
  if (text !== null) gate.require('file.read-content');
  const root = await gate.folder(base, 'file.read');
  const isVisible = (path: FilePath): boolean => isSearched(gate, [...base, ...path]);
  const walk = new TreeWalk({ maxEntries: MAX_ENTRIES, signal, enters: isVisible });
  const matchesName = name === null ? () => true : nameMatcher(name);
  const found: Found[] = [];
  const budget = { bytes: MAX_READ_BYTES };
  let complete = true;
  for await (const visit of walk.in(root)) {
    if (!isVisible(visit.path) || !matchesName(visit.path.at(-1) ?? '')) continue;
    const path = [...base, ...visit.path];
    if (!isShort(path)) {
      complete = false;
      continue;
    }
    const type = typeOf(visit.stat);
    const hit = { path: formatPath(path), type, size: sizeOf(visit.stat) };
    if (text === null) found.push({ ...hit, line: null, text: null });
    else
      for (const line of await linesWith(gate, visit, text, budget))
        found.push({ ...hit, ...line });
    if (found.length < limit && budget.bytes > 0) continue;
    complete = false;
    break;
  }
  return { kind: 'found', found: found.slice(0, limit), complete: complete && walk.complete };
}

function isSearched(gate: Gate, path: FilePath): boolean {
  return path[0] !== RESERVED_NAME && !gate.files.denylist.denies(path);
}

/** A part of a name, or with `*` and `?` all of it; capitals do not matter. */
function nameMatcher(wanted: string): (name: string) => boolean {
  const text = wanted.toLowerCase();
  if (!/[*?]/.test(text)) return (name) => name.toLowerCase().includes(text);
  const list = parseDenylist([text.replace(/[\\[\]!#/]/g, String.raw`\$&`)]);
  return (name) => list.denies([name.toLowerCase()]);
}

/** The lines of a file that have a text. None of what is no text, or may not be read. */
async function linesWith(
  gate: Gate,
  { folder, name, stat }: Visit,
  wanted: string,
  budget: { bytes: number },
): Promise<readonly Pick<Found, 'line' | 'text'>[]> {
  if (!stat.isFile() || stat.size > MAX_TEXT_BYTES || Number(stat.size) > budget.bytes) return [];
  try {
    const file = await folder.openFile(name, gate.files.owner);
    if (file === null) return [];
    try {
      const bytes = await readWhole(file.handle, MAX_TEXT_BYTES);
      budget.bytes -= bytes.length;
      return bytes.includes(0) ? [] : linesOf(bytes.toString(), inSmallLetters(wanted));
    } finally {
      await file.handle.close();
    }
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

/** Reads the text once and makes nothing of the lines without a hit, which may be millions. */
function linesOf(content: string, wanted: string): Pick<Found, 'line' | 'text'>[] {
  const text = inSmallLetters(content);
  const hits: Pick<Found, 'line' | 'text'>[] = [];
  let [line, start, read] = [1, 0, 0];
  let at = text.indexOf(wanted);
  while (at !== -1 && hits.length < MAX_LINES_OF_FILE) {
    for (; read < at; read += 1) {
      if (text.charCodeAt(read) !== LINE_FEED) continue;
      line += 1;
      start = read + 1;
    }
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    // Around the hit, where a line is long.
    const from = Math.max(start, at - MAX_LINE / 4);
    hits.push({ line, text: content.slice(from, Math.min(end, from + MAX_LINE)).trimEnd() });
    at = text.indexOf(wanted, end);
  }
  return hits;
}

/** Each letter keeps its place: the one that becomes two is replaced before. */
function inSmallLetters(text: string): string {
  return text.split('\u0130').join('i').toLowerCase();
}
