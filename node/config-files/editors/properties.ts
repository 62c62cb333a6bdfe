import type { Repertoire } from './characters.ts';
import { type Edit, type Edited, valueAfter } from './edit.ts';
import { insertLines, isContinued, type Line, linesOf, textOf } from './lines.ts';

/**
 * Java properties (https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html). Only
 * changed lines are written; missing keys are added at the end. Values are written in ASCII with `\u` escapes, which
 * are valid in any encoding of the file, unless the file has other characters already: games that are not Java know no
 * escapes.
 */
export function editProperties(
  text: string,
  edits: readonly Edit[],
  repertoire: Repertoire,
): Edited {
  const lines = linesOf(text);
  const entries = entriesOf(lines);
  const byKey = Map.groupBy(entries, ({ key }) => key);
  const added: Entry[] = [];
  for (const edit of edits) {
    const found = byKey.get(edit.match) ?? [];
    for (const entry of found) {
      const value = valueAfter(entry.value, edit);
      if (value === null || String(value) === entry.value) continue;
      entry.value = String(value);
      entry.changed = true;
    }
    const value = found.length > 0 ? null : valueAfter(null, edit);
    if (value === null) continue;
    const entry = newEntry(edit.match, String(value));
    byKey.set(edit.match, [entry]);
    added.push(entry);
  }
  // oxlint-disable-next-line no-control-regex
  const isRaw = /[^\0-\x7f]/.test(text);
  const escaped = !isRaw ? NOT_ASCII : repertoire === 'unicode' ? UNPRINTABLE : NOT_LATIN1;
  const written = (entry: Entry): string => lineOf(entry, escaped);
  const kept = withChanges(lines, entries, written);
  const last = entries.at(-1);
  // A backslash at the end of the file would continue in the first added line.
  const isOpen =
    last?.changed === false &&
    last.last === lines.length - 1 &&
    isContinued(lines.at(-1)?.text ?? '');
  const texts = added.map(written);
  if (texts.length > 0) insertLines(kept, kept.length, isOpen ? ['', ...texts] : texts);
  return { text: textOf(kept), problems: [] };
}

interface Entry {
  /** The indexes of its natural lines: a value may continue after a backslash. */
  readonly first: number;
  readonly last: number;
  readonly key: string;
  /** The text before the value; null for an added entry. */
  readonly head: string | null;
  value: string;
  changed: boolean;
}

function newEntry(key: string, value: string): Entry {
  return { first: -1, last: -1, key, head: null, value, changed: true };
}

function lineOf({ key, head, value }: Entry, escaped: RegExp): string {
  return (head ?? `${escapeKey(key, escaped)}=`) + escape(value, escaped);
}

function withChanges(
  lines: readonly Line[],
  entries: readonly Entry[],
  written: (entry: Entry) => string,
): Line[] {
  const changed = new Map(entries.filter((entry) => entry.changed).map((one) => [one.first, one]));
  const kept: Line[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const entry = changed.get(at);
    if (entry === undefined) kept.push(lines[at] as Line);
    else {
      kept.push({ text: written(entry), end: lines[entry.last]?.end ?? '' });
      at = entry.last;
    }
  }
  return kept;
}

function entriesOf(lines: readonly Line[]): Entry[] {
  const entries: Entry[] = [];
  for (let first = 0; first < lines.length; first += 1) {
    // A line with a backslash alone is empty too.
    if (/^[ \t\f]*(?:[#!]|\\?$)/.test(lines[first]?.text ?? '')) continue;
    let last = first;
    while (isContinued(lines[last]?.text ?? '') && last + 1 < lines.length) last += 1;
    const [head, key, value] = partsOf(logicalLine(lines, first, last));
    entries.push({ first, last, key: unescape(key), head, value: unescape(value), changed: false });
    first = last;
  }
  return entries;
}

function logicalLine(lines: readonly Line[], first: number, last: number): string {
  const parts: string[] = [];
  for (let at = first; at <= last; at += 1) {
    const text = lines[at]?.text ?? '';
    const part = at === first ? text : text.replace(/^[ \t\f]+/, '');
    // At the end of the file, a backslash continues in nothing.
    parts.push(isContinued(part) ? part.slice(0, -1) : part);
  }
  return parts.join('');
}

/** The text before the value (with a separator, also if it was missing), the key, and the value. */
function partsOf(line: string): readonly [head: string, key: string, value: string] {
  const start = /^[ \t\f]*/.exec(line)?.[0].length ?? 0;
  let at = start;
  while (at < line.length && !/[=: \t\f]/.test(line[at] as string)) at += line[at] === '\\' ? 2 : 1;
  const separator = /^[ \t\f]*[=:]?[ \t\f]*/.exec(line.slice(at))?.[0] ?? '';
  const head = line.slice(0, at) + separator;
  return [separator === '' ? `${head}=` : head, line.slice(start, at), line.slice(head.length)];
}

const ESCAPED: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };

function unescape(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, code?: string, char?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return ESCAPED[char ?? ''] ?? char ?? '';
  });
}

const NAMES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
};

const NOT_ASCII = /[^\x20-\x7e]/g;
const NOT_LATIN1 = /[^\x20-\x7e\xa0-\xff]/g;
const UNPRINTABLE = /[\0-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

function escape(value: string, escaped: RegExp): string {
  const text = value.replaceAll(/[\\\n\r\t\f]/g, (char) => NAMES[char] ?? char);
  return byCode(text.replace(/^ /, '\\ '), escaped);
}

function escapeKey(key: string, escaped: RegExp): string {
  const text = key.replaceAll(/[\\\n\r\t\f]/g, (char) => NAMES[char] ?? char);
  return byCode(text.replaceAll(/[ :=#!]/g, '\\$&'), escaped);
}

function byCode(text: string, escaped: RegExp): string {
  return text.replaceAll(
    escaped,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
