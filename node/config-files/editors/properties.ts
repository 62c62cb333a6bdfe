import { valueAfter } from './condition.ts';
import type { Edit, Editor } from './edit.ts';
import { insertLines, type Line, linesOf, textOf } from './lines.ts';

/**
 * Java's properties (https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html). Only the
 * lines of what changes are written; what is not there is added at the end. Values are written in ASCII with `\u`
 * escapes, which every reader understands, whatever it takes the file's encoding for.
 */
export const editProperties: Editor = (text, edits) => {
  const lines = linesOf(text);
  for (const edit of edits) {
    const found = entriesOf(lines).filter(({ key }) => key === edit.match);
    if (found.length === 0) {
      const value = valueAfter(null, edit);
      if (value !== null) insertLines(lines, lines.length, [`${escapeKey(edit)}=${escape(value)}`]);
    }
    for (const entry of found.toReversed()) {
      const value = valueAfter(entry.value, edit);
      if (value === null || String(value) === entry.value) continue;
      const { end } = lines[entry.last] as Line;
      lines.splice(entry.first, entry.last - entry.first + 1, {
        text: `${entry.head}${escape(value)}`,
        end,
      });
    }
  }
  return { text: textOf(lines), problems: [] };
};

interface Entry {
  /** Of its natural lines: a value may go on after a backslash. */
  readonly first: number;
  readonly last: number;
  readonly key: string;
  readonly value: string;
  /** What stands before the value. */
  readonly head: string;
}

function entriesOf(lines: readonly Line[]): Entry[] {
  const entries: Entry[] = [];
  for (let first = 0; first < lines.length; first += 1) {
    const start = lines[first]?.text ?? '';
    if (/^[ \t\f]*(?:[#!]|$)/.test(start)) continue;
    let last = first;
    let logical = start;
    while (/(?:^|[^\\])(?:\\\\)*\\$/.test(logical) && last + 1 < lines.length) {
      last += 1;
      logical = logical.slice(0, -1) + (lines[last]?.text ?? '').replace(/^[ \t\f]+/, '');
    }
    const [head, key] = headOf(logical);
    const value = unescape(logical.slice(head.length));
    entries.push({
      first,
      last,
      key: unescape(key),
      value,
      head: /[=: \t\f]$/.test(head) ? head : `${head}=`,
    });
    first = last;
  }
  return entries;
}

/** The key with what stands around it, up to the value; and the key alone. */
function headOf(line: string): readonly [head: string, key: string] {
  const start = /^[ \t\f]*/.exec(line)?.[0].length ?? 0;
  let at = start;
  while (at < line.length && !/[=: \t\f]/.test(line[at] as string)) at += line[at] === '\\' ? 2 : 1;
  const key = line.slice(start, at);
  const separator = /^[ \t\f]*[=:]?[ \t\f]*/.exec(line.slice(at))?.[0] ?? '';
  return [line.slice(0, at) + separator, key];
}

const ESCAPED: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };

function unescape(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, code?: string, char?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return ESCAPED[char ?? ''] ?? char ?? '';
  });
}

function escape(value: string | number | boolean): string {
  const text = String(value).replaceAll(/[\\\n\r\t\f]/g, (char) => NAMES[char] ?? char);
  return ascii(text.replace(/^ /, '\\ '));
}
const NAMES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
};

function escapeKey({ match }: Edit): string {
  const text = match.replaceAll(/[\\\n\r\t\f]/g, (char) => NAMES[char] ?? char);
  return ascii(text.replaceAll(/[ :=#!]/g, '\\$&'));
}

function ascii(text: string): string {
  return text.replaceAll(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
