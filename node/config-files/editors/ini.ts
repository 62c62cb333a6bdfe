import { type Edit, type Editor, valueAfter } from './edit.ts';
import { insertLines, isOneLine, type Line, linesOf, textOf } from './lines.ts';

/**
 * INI files. A match is `key` or `section.key`; names with dots are in brackets, as in `[Script/Engine.Session].Max` or
 * `General.[scum.Name]`. Only changed lines are written; missing keys are added at the end of their section.
 */
export const editIni: Editor = (text, edits) => {
  const lines = linesOf(text);
  const problems: string[] = [];
  const file = parseFile(lines);
  for (const edit of edits) {
    const place = parseMatch(edit.match);
    if (place === null) problems.push(`"${edit.match}" is neither a key nor section.key.`);
    else if (isOneLine(String(edit.value))) editKey(file, place, edit);
    else problems.push(`"${edit.match}": a value of several lines cannot be written.`);
  }
  return { text: textOf(written(lines, file)), problems };
};

interface Place {
  /** Null: before the first section. */
  readonly section: string | null;
  readonly key: string;
}

/** As in Wings: the first dot outside of brackets separates section and key, and the brackets are removed. */
function parseMatch(match: string): Place | null {
  const parts: string[] = [];
  let part = '';
  let depth = 0;
  for (const char of match) {
    if (char === '[') depth += 1;
    else if (char === ']') depth -= 1;
    else if (char === '.' && depth <= 0 && parts.length === 0) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  const key = part.trim();
  if (key === '' || /[\r\n]/.test(match)) return null;
  return { section: parts[0]?.trim() ?? null, key };
}

interface Entry {
  /** The index of its line; -1 for an added entry. */
  readonly at: number;
  /** The line up to the value. */
  readonly head: string;
  readonly isQuoted: boolean;
  value: string;
  changed: boolean;
}
/** All parts of the file with the same heading. */
interface Section {
  readonly entries: Map<string, Entry[]>;
  /** The index after the last non-empty line of its last part, where lines are added; -1 for an added section. */
  end: number;
  readonly added: Entry[];
}
interface IniFile {
  /** The separator used by most lines: `key=value` or `key = value`. */
  readonly separator: string;
  /** By heading; null: before the first section. */
  readonly sections: Map<string | null, Section>;
}

function parseFile(lines: readonly Line[]): IniFile {
  let section = newSection(0);
  const sections = new Map<string | null, Section>([[null, section]]);
  let spaced = 0;
  for (const [at, { text }] of lines.entries()) {
    const name = /^\s*\[([^\]]+)\]/.exec(text)?.[1];
    if (name !== undefined) section = sectionOf(sections, name.trim());
    if (text.trim() !== '') section.end = at + 1;
    const entry = name === undefined ? parseEntry(text, at) : null;
    if (entry === null) continue;
    const [key, found] = entry;
    spaced += found.head.endsWith(' = ') ? 1 : -1;
    const same = section.entries.get(key);
    if (same === undefined) section.entries.set(key, [found]);
    else same.push(found);
  }
  return { separator: spaced > 0 ? ' = ' : '=', sections };
}

function newSection(end: number): Section {
  return { entries: new Map(), end, added: [] };
}

function sectionOf(sections: Map<string | null, Section>, name: string | null): Section {
  const known = sections.get(name);
  if (known !== undefined) return known;
  const made = newSection(-1);
  sections.set(name, made);
  return made;
}

function parseEntry(text: string, at: number): readonly [key: string, entry: Entry] | null {
  if (/^\s*(?:[;#]|\[|$)/.test(text)) return null;
  const separator = text.search(/[=:]/);
  if (separator === -1) return null;
  const rest = text.slice(separator + 1);
  const value = rest.trim();
  const head = text.slice(0, separator + 1) + (/^\s*/.exec(rest)?.[0] ?? '');
  const isQuoted = /^"[^"]*"$/.test(value);
  const entry = { at, head, isQuoted, value: isQuoted ? value.slice(1, -1) : value };
  return [text.slice(0, separator).trim(), { ...entry, changed: false }];
}

function editKey({ sections, separator }: IniFile, { section, key }: Place, edit: Edit): void {
  const target = sectionOf(sections, section);
  const found = target.entries.get(key) ?? [];
  for (const entry of found) {
    const value = valueAfter(entry.value, edit);
    if (value === null || String(value) === entry.value) continue;
    entry.value = String(value);
    entry.changed = true;
  }
  const value = found.length > 0 ? null : valueAfter(null, edit);
  if (value === null) return;
  const head = `${key}${separator}`;
  const entry = { at: -1, head, isQuoted: false, value: String(value), changed: true };
  target.entries.set(key, [entry]);
  target.added.push(entry);
}

function written(lines: readonly Line[], { sections }: IniFile): Line[] {
  const result = [...lines];
  for (const { entries } of sections.values()) {
    for (const entry of [...entries.values()].flat()) {
      if (entry.changed && entry.at !== -1) {
        result[entry.at] = { text: lineOf(entry), end: lines[entry.at]?.end ?? '' };
      }
    }
  }
  // From the end to the start, so that earlier indexes stay valid; new sections follow at the end.
  const behind = [...sections.values()].toSorted((a, b) => b.end - a.end);
  for (const { end, added } of behind) {
    if (end !== -1) insertLines(result, end, added.map(lineOf));
  }
  for (const [name, { end, added }] of sections) {
    if (end === -1 && added.length > 0)
      insertLines(result, result.length, [`[${name}]`, ...added.map(lineOf)]);
  }
  return result;
}

function lineOf({ head, isQuoted, value }: Entry): string {
  return head + (isQuoted && !value.includes('"') ? `"${value}"` : value);
}
