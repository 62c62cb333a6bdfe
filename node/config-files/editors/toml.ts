import { isDeepStrictEqual } from 'node:util';
import { parse, stringify, TomlError } from 'smol-toml';
import { type Editor, Unreadable } from './edit.ts';
import { editDocument } from './json.ts';

type Path = readonly string[];
type Table = Record<string, unknown>;

/** The most lines of one value, such as a list; each line more is parsed again with those before it. */
const MAX_VALUE_LINES = 200;

/**
 * TOML. Values are replaced and added in place, so that comments, order and the notation of all others stay (a library
 * that writes the document anew makes 1.0 an integer). The result is parsed again and must say exactly what was asked.
 */
export const editToml: Editor = (text, edits) => {
  const before = read(text);
  const after = read(text);
  const problems = edits.flatMap((edit) => editDocument(after, edit, numberOf));
  const changes = [...differences(before, after, [])];
  if (changes.length === 0) return { text, problems };
  const result = write(text, after, changes);
  if (!says(result, after))
    throw new Unreadable('what is to be changed stands in a form that cannot be changed in place');
  return { text: result, problems };
};

function says(text: string, wanted: Table): boolean {
  try {
    const written = read(text);
    return !differ(written, wanted) && !differ(wanted, written);
  } catch (error) {
    if (error instanceof Unreadable) return false;
    throw error;
  }
}

/** A whole number beyond those of doubles stays one, if it has the 64 bits of TOML. */
function numberOf(text: string): number | bigint {
  if (!/^-?\d+$/.test(text) || Number.isSafeInteger(Number(text))) return Number(text);
  const whole = BigInt(text);
  return BigInt.asIntN(64, whole) === whole ? whole : Number(text);
}

function read(text: string): Table {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split('\n')[0] ?? '';
    throw new Unreadable(`it is not TOML: ${reason}`, { cause: error });
  }
}

function differ(before: Table, after: Table): boolean {
  return differences(before, after, []).next().done !== true;
}

/** The paths of values that differ; a list differs as a whole. */
function* differences(before: unknown, after: unknown, path: Path): Generator<Path> {
  if (!isTable(after)) {
    if (!isDeepStrictEqual(plain(before), plain(after))) yield path;
    return;
  }
  for (const key of Object.keys(after)) {
    const old = isTable(before) && Object.hasOwn(before, key) ? before[key] : undefined;
    yield* differences(old, after[key], [...path, key]);
  }
}

/** With the same prototypes everywhere: the library's tables have none. */
function plain(value: unknown): unknown {
  return structuredClone(value);
}

function isTable(value: unknown): value is Table {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

/** A line with a header or a value, which may go on over further lines; or one with neither. */
interface Statement {
  text: string;
  /** From the root; null for an empty line or a comment. */
  readonly path: Path | null;
  readonly isHeader: boolean;
}

function write(text: string, after: Table, changes: readonly Path[]): string {
  const end = text.includes('\r\n') ? '\r\n' : '\n';
  const statements = statementsOf(text);
  const values = new Map<string, Statement>();
  /** The last statement of each section, after which a key is added. */
  const lasts = new Map<string, Statement>();
  let section: Path = [];
  for (const statement of statements) {
    if (statement.path === null) continue;
    if (statement.isHeader) section = statement.path;
    else values.set(keyOf(statement.path), statement);
    lasts.set(keyOf(section), statement);
  }
  const first: string[] = [];
  const sections = new Map<string, string[]>();
  for (const path of changes) {
    const value = path.reduce<unknown>((at, key) => (at as Table)[key], after);
    const known = values.get(keyOf(path));
    if (known !== undefined) {
      known.text = replaceValue(known.text, value);
      continue;
    }
    const table = path.slice(0, -1);
    const line = `${formatKey(path.at(-1) ?? '')} = ${format(value)}`;
    const last = lasts.get(keyOf(table));
    if (last !== undefined) last.text += `${end}${line}`;
    else if (table.length === 0) first.push(line);
    else {
      const header = `[${table.map(formatKey).join('.')}]`;
      sections.set(header, [...(sections.get(header) ?? []), line]);
    }
  }
  const added = [...sections].map(([header, lines]) => [header, ...lines].join(end));
  const body = [...first, ...statements.map((one) => one.text)].join(end);
  if (added.length === 0) return body;
  const gap = body === '' ? '' : body.endsWith(end) ? end : end + end;
  return `${body}${gap}${added.join(end + end)}${end}`;
}

function statementsOf(text: string): Statement[] {
  const lines = text.split(/\r?\n/);
  const statements: Statement[] = [];
  let section: Path = [];
  for (let from = 0; from < lines.length; ) {
    const { parsed, next } = takeStatement(lines, from);
    const part = lines.slice(from, next).join(text.includes('\r\n') ? '\r\n' : '\n');
    const isHeader = /^\s*\[/.test(part);
    const path = pathOf(parsed);
    if (isHeader) section = path;
    const isEmpty = !isHeader && path.length === 0;
    statements.push({
      text: part,
      path: isEmpty ? null : isHeader ? path : [...section, ...path],
      isHeader,
    });
    from = next;
  }
  return statements;
}

function takeStatement(
  lines: readonly string[],
  from: number,
): { readonly parsed: Table; readonly next: number } {
  const most = Math.min(lines.length, from + MAX_VALUE_LINES);
  for (let next = from + 1; next <= most; next += 1) {
    try {
      return {
        parsed: parse(lines.slice(from, next).join('\n'), { integersAsBigInt: true }),
        next,
      };
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
    }
  }
  throw new Unreadable(`the value in line ${from + 1} is too long to be edited`);
}

/** The path of the only key: down to a value, or to the empty table of a header. A list of tables counts as `[]`. */
function pathOf(parsed: Table): Path {
  const path: string[] = [];
  for (let at: unknown = parsed; isTable(at); ) {
    const [key] = Object.keys(at);
    if (key === undefined) break;
    path.push(key);
    at = at[key];
  }
  return path;
}

const KEY = `(?:[\\w-]+|"(?:[^"\\\\]|\\\\.)*"|'[^']*')`;
const VALUE = `"""[\\s\\S]*"""|'''[\\s\\S]*'''|"(?:[^"\\\\]|\\\\.)*"|'[^']*'|\\[[\\s\\S]*\\]|[^#\\r\\n]*[^#\\s]`;
const ASSIGNMENT = new RegExp(`^(\\s*${KEY}(?:\\s*\\.\\s*${KEY})*\\s*=\\s*)(${VALUE})`);

function replaceValue(statement: string, value: unknown): string {
  return statement.replace(ASSIGNMENT, (_, key: string, old: string) => {
    // A float stays one.
    const isFloat = /^[+-]?(?:\d[\d_]*(?:\.|[eE])|inf|nan)/.test(old) && Number.isInteger(value);
    return `${key}${isFloat ? `${String(value)}.0` : format(value)}`;
  });
}

function format(value: unknown): string {
  return stringify({ x: value }).replace(/^x = /, '').trimEnd();
}

function formatKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}
