import { type Edit, type Editor, valueAfter } from './edit.ts';
import { insertLines, isContinued, type Line, linesOf, textOf } from './lines.ts';

/**
 * INI files. A match is `key` or `section.key`; names with dots are in brackets, as in `[Script/Engine.Session].Max` or
 * `General.[scum.Name]`. Only changed lines are written; missing keys are added at the end of their section. A comment
 * behind a value stays. There are no escapes, so a value that would reach into the next line is refused.
 */
export const editIni: Editor = (text, edits) => {
  const lines = linesOf(text);
  const problems: string[] = [];
  const file = parseFile(lines);
  for (const edit of edits) {
    const place = parseMatch(edit.match);
    if (place === null) problems.push(`"${edit.match}" is neither a key nor section.key.`);
    else {
      const problem = editKey(file, place, edit);
      if (problem !== null) problems.push(`"${edit.match}": ${problem}`);
    }
  }
  return { text: textOf(written(lines, file)), problems };
};

interface Place {
  /** Null: before the first section. */
  readonly section: string | null;
  readonly key: string;
}

/** Parses as in Wings: the first dot outside of brackets separates section and key, and the brackets are removed. */
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
  if (key === '' || /[\p{Cc}\u2028\u2029]/u.test(match)) return null;
  return { section: parts[0]?.trim() ?? null, key };
}

interface Entry {
  /** The index of its line; -1 for an added entry. */
  readonly at: number;
  /** The index of its last line: a value may continue. */
  readonly last: number;
  /** Whether it is unclear if the next line belongs to the value, because readers differ. */
  readonly isUnclear: boolean;
  /** The line up to the value. */
  readonly head: string;
  /** The mark on both sides of the value, or nothing. */
  readonly quote: string;
  /** The comment behind the value, with the space before it. */
  readonly comment: string;
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
  /** Sections by heading; null: before the first section. */
  readonly sections: Map<string | null, Section>;
}

function parseFile(lines: readonly Line[]): IniFile {
  let section = newSection(0);
  const sections = new Map<string | null, Section>([[null, section]]);
  let spaced = 0;
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at]?.text ?? '';
    const name = /^\s*\[([^\]]+)\]/.exec(text)?.[1];
    if (name !== undefined) section = sectionOf(sections, name.trim());
    const entry = name === undefined ? parseEntry(lines, at) : null;
    if (entry !== null) at = entry[1].last;
    if (text.trim() !== '') section.end = at + 1;
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

const QUOTED = /^\s*(?:"([^"]*)"|'([^']*)')(\s*[;#].*|\s*)$/;
/** Only after a space and before a space or a word, so that `#1` and `;)` are text. */
const COMMENT = /(?<=\s)(?:;(?=$|[\s;\p{L}\p{N}])|#(?=$|[\s#]))/u;

/** The comment behind a value, with the space before it; or nothing. */
function commentOf(text: string): string {
  const mark = COMMENT.exec(text)?.index;
  return mark === undefined ? '' : text.slice(text.slice(0, mark).trimEnd().length);
}

function parseEntry(
  lines: readonly Line[],
  at: number,
): readonly [key: string, entry: Entry] | null {
  const text = lines[at]?.text ?? '';
  if (!isEntry(text)) return null;
  const separator = text.search(/[=:]/);
  const rest = text.slice(separator + 1);
  const [, double, single, behind = ''] = QUOTED.exec(rest) ?? [];
  const inner = double ?? single;
  const comment = inner === undefined ? commentOf(rest) : behind;
  const bare = rest.slice(0, rest.length - comment.length);
  const last = inner === undefined && comment === '' ? lastOf(lines, at, bare) : at;
  const next = lines[at + 1]?.text;
  const entry: Entry = {
    at,
    last,
    isUnclear: last === at && next !== undefined && /\s\\$/.test(bare) && isEntry(next),
    head: text.slice(0, separator + 1) + (/^\s*/.exec(bare)?.[0] ?? ''),
    quote: double !== undefined ? '"' : single !== undefined ? "'" : '',
    comment: comment.trim() === '' ? '' : comment,
    value: inner ?? bare.trim(),
    changed: false,
  };
  return [text.slice(0, separator).trim(), entry];
}

function isEntry(text: string): boolean {
  return !/^\s*(?:[;#]|\[|$)/.test(text) && /[=:]/.test(text);
}

/** The last line of a value: one that can be nothing else continues it, after a backslash or with more indentation. */
function lastOf(lines: readonly Line[], at: number, bare: string): number {
  const indent = indentOf(lines[at]?.text ?? '');
  let isOpen = isContinued(bare);
  let last = at;
  for (let next = at + 1; next < lines.length; next += 1) {
    const text = lines[next]?.text ?? '';
    if (/^\s*(?:[;#]|\[|$)/.test(text) || isEntry(text)) break;
    if (!isOpen && indentOf(text) <= indent) break;
    isOpen = isContinued(text);
    last = next;
  }
  return last;
}

function indentOf(text: string): number {
  return text.search(/\S|$/);
}

/** Returns a problem, or null. */
function editKey(
  { sections, separator }: IniFile,
  { section, key }: Place,
  edit: Edit,
): string | null {
  const target = sectionOf(sections, section);
  const found = target.entries.get(key) ?? [];
  const wanted = found.map((entry) => changeOf(entry, edit));
  const made = found.length > 0 ? null : valueAfter(null, edit);
  const added = made === null ? null : String(made).trim();
  if ([...wanted, added].some((value) => value !== null && reachesOn(value))) {
    return 'some readers would take the next line for a part of this value: it ends with a backslash or opens a quotation.';
  }
  if (found.some(({ isUnclear }, index) => isUnclear && wanted[index] !== null)) {
    return 'its value ends with a backslash, and it is unclear whether the next line belongs to it.';
  }
  for (const [index, entry] of found.entries()) {
    const value = wanted[index] ?? null;
    if (value === null) continue;
    entry.value = value;
    entry.changed = true;
  }
  if (added === null) return null;
  const entry: Entry = {
    at: -1,
    last: -1,
    isUnclear: false,
    head: `${key}${separator}`,
    quote: '',
    comment: '',
    value: added,
    changed: true,
  };
  target.entries.set(key, [entry]);
  target.added.push(entry);
  return null;
}

/** Some readers know values of several lines in backquotes and in three quotation marks too. */
function reachesOn(value: string): boolean {
  return isContinued(value) || /^`[^`]*$/.test(value) || /^"""(?!.*""")/.test(value);
}

/**
 * The new value, or null for none. Space around it belongs to the line unless it is in quotes, and what stands before a
 * comment may be a value with such a mark, written before.
 */
function changeOf({ value, comment, quote }: Entry, edit: Edit): string | null {
  const made = valueAfter(value, edit);
  if (made === null) return null;
  const after = quote === '' ? String(made).trim() : String(made);
  if (after === value) return null;
  const whole = value + comment;
  const behind = whole.slice(after.length);
  const isThere = quote === '' && whole.startsWith(after) && commentOf(behind) === behind;
  return isThere ? null : after;
}

function written(lines: readonly Line[], { sections }: IniFile): Line[] {
  const result = [...lines];
  for (const { entries } of sections.values()) {
    for (const entry of [...entries.values()].flat()) {
      if (!entry.changed || entry.at === -1) continue;
      for (let at = entry.at; at < entry.last; at += 1) result[at] = { text: '', end: '' };
      result[entry.last] = { text: lineOf(entry), end: lines[entry.last]?.end ?? '' };
    }
  }
  // From the end to the start, so that earlier indexes stay valid; new sections follow at the end.
  const behind = [...sections.values()].toSorted((a, b) => b.end - a.end);
  for (const { end, added } of behind) {
    if (end !== -1 && added.length > 0) insertBehind(result, end, added.map(lineOf));
  }
  for (const [name, { end, added }] of sections) {
    if (end === -1 && added.length > 0)
      insertBehind(result, result.length, [`[${name}]`, ...added.map(lineOf)]);
  }
  return result;
}

/** With an empty line between if the line before would continue in the first one. */
function insertBehind(lines: Line[], at: number, texts: readonly string[]): void {
  const before = lines[at - 1]?.text ?? '';
  insertLines(lines, at, isEntry(before) && isContinued(before) ? ['', ...texts] : texts);
}

function lineOf({ head, quote, comment, value }: Entry): string {
  const mark = value.includes(quote) ? '' : quote;
  return `${head}${mark}${value}${mark}${comment}`;
}
