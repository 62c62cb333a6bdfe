import { valueAfter } from './condition.ts';
import type { Edit, Editor } from './edit.ts';
import { insertLines, isOneLine, type Line, linesOf, textOf } from './lines.ts';

/**
 * Sections and keys. A match is `key` or `section.key`; what has dots of its own stands in brackets, as in
 * `[Script/Engine.Session].Max` or `General.[scum.Name]`. Only the lines of what changes are written; what is not
 * there is added at the end of its section.
 */
export const editIni: Editor = (text, edits) => {
  const lines = linesOf(text);
  const problems: string[] = [];
  const separator = separatorOf(lines);
  for (const edit of edits) {
    const place = parseMatch(edit.match);
    if (place === null) problems.push(`"${edit.match}" is neither a key nor section.key.`);
    else if (isOneLine(String(edit.value))) editKey(lines, place, edit, separator);
    else problems.push(`"${edit.match}": a value of several lines cannot be written.`);
  }
  return { text: textOf(lines), problems };
};

interface Place {
  /** null: before the first section. */
  readonly section: string | null;
  readonly key: string;
}

/** As Wings reads it: the first dot outside of brackets parts section and key, the brackets themselves go. */
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

function editKey(lines: Line[], place: Place, edit: Edit, separator: string): void {
  const sections = sectionsOf(lines).filter(({ name }) => name === place.section);
  let found = false;
  for (const { first, end } of sections) {
    for (let at = first; at < end; at += 1) {
      const entry = parseEntry(lines[at]?.text ?? '');
      if (entry === null || entry.key !== place.key) continue;
      found = true;
      const value = valueAfter(unquoted(entry.value), edit);
      if (value === null || String(value) === unquoted(entry.value)) continue;
      const written = quotedLike(entry.value, String(value));
      lines[at] = { text: entry.head + written, end: (lines[at] as Line).end };
    }
  }
  const value = found ? null : valueAfter(null, edit);
  if (value === null) return;
  const line = `${place.key}${separator}${value}`;
  const last = sections.at(-1);
  if (last !== undefined) insertLines(lines, endOfText(lines, last), [line]);
  else insertLines(lines, lines.length, [`[${place.section}]`, line]);
}

interface Section {
  readonly name: string | null;
  /** Its lines after the heading. */
  readonly first: number;
  readonly end: number;
}

function sectionsOf(lines: readonly Line[]): Section[] {
  const headings = lines.flatMap(({ text }, at) => {
    const name = /^\s*\[([^\]]+)\]/.exec(text)?.[1];
    return name === undefined ? [] : [{ name: name.trim(), at }];
  });
  const starts = [{ name: null, at: -1 }, ...headings];
  return starts.map(({ name, at }, index) => ({
    name,
    first: at + 1,
    end: starts[index + 1]?.at ?? lines.length,
  }));
}

/** Where a key is added: before the empty lines that set the next section off. */
function endOfText(lines: readonly Line[], { first, end }: Section): number {
  let at = end;
  while (at > first && (lines[at - 1]?.text.trim() ?? '') === '') at -= 1;
  return at;
}

function parseEntry(
  text: string,
): { readonly head: string; readonly key: string; readonly value: string } | null {
  if (/^\s*(?:[;#]|\[|$)/.test(text)) return null;
  const match = /^(\s*([^=:]*?)\s*[=:]\s*)(.*?)\s*$/.exec(text);
  if (match === null) return null;
  const [, head = '', key = '', value = ''] = match;
  return { head, key, value };
}

/** As most of the file has it: `key=value` or `key = value`. */
function separatorOf(lines: readonly Line[]): string {
  const spaced = lines.filter(({ text }) => /^\s*[^;#[=\s][^=]*\s=\s/.test(text)).length;
  const tight = lines.filter(({ text }) => /^\s*[^;#[=\s][^=]*\S=\S/.test(text)).length;
  return spaced > tight ? ' = ' : '=';
}

function unquoted(value: string): string {
  return /^"[^"]*"$/.test(value) ? value.slice(1, -1) : value;
}

function quotedLike(before: string, value: string): string {
  return /^"[^"]*"$/.test(before) && !value.includes('"') ? `"${value}"` : value;
}
