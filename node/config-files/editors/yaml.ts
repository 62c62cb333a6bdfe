import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  Scalar,
} from 'yaml';
import { type Edit, type Editor, Unreadable, valueAfter } from './edit.ts';
import { fitsNothing, listIndex, NumberText, parsePath, type Step, typed } from './path.ts';

type Path = readonly (string | number)[];

/**
 * YAML. Existing values are replaced in place, so that all other bytes stay; the document is rewritten, with comments
 * and order, only if something is added. Parsed without types (`failsafe`), because games use YAML 1.1 or 1.2 and other
 * values must keep their meaning in both. New values are quoted if either version would interpret them differently.
 */
export const editYaml: Editor = (text, edits) => {
  const problems: string[] = [];
  const document = read(text);
  const replaced = new Map<Scalar, Written>();
  const missing: { readonly path: Path; readonly value: Written }[] = [];
  for (const edit of edits) {
    const steps = parsePath(edit.match);
    if (steps === null || steps.length === 0) {
      problems.push(`"${edit.match}" is no path.`);
      continue;
    }
    let isReached = false;
    walk(document.contents, steps, [], edit, {
      scalar: (node, path) => {
        isReached = true;
        const value = written(replaced.get(node)?.value ?? node.value, node, edit);
        if (value === null) return;
        if (isSpliced(node)) replaced.set(node, value);
        else missing.push({ path, value });
      },
      absent: (path) => {
        isReached = true;
        const value = written(null, null, edit);
        if (value !== null) missing.push({ path, value });
      },
      problem: (what) => {
        isReached = true;
        problems.push(`"${edit.match}": ${what}`);
      },
    });
    if (!isReached && edit.ifValue === null) problems.push(fitsNothing(edit));
  }
  const spliced = splice(text, replaced);
  const after = missing.length === 0 ? spliced : add(spliced, missing, problems);
  // The result must be as readable as the original.
  if (after !== text) read(after);
  return { text: after, problems };
};

interface Written {
  readonly value: string;
  readonly type: 'PLAIN' | 'QUOTE_DOUBLE' | 'QUOTE_SINGLE';
}

interface Visitor {
  scalar(node: Scalar, path: Path): void;
  absent(path: Path): void;
  problem(what: string): void;
}

function read(text: string): Document {
  const document = parseDocument(text, {
    schema: 'failsafe',
    uniqueKeys: false,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error !== undefined) {
    throw new Unreadable(`it is not YAML: ${error.message.split('\n')[0] ?? ''}`);
  }
  const { contents } = document;
  if (contents !== null && !isCollection(contents) && !isEmpty(contents)) {
    throw new Unreadable('it is neither a map nor a list');
  }
  return document;
}

function walk(
  node: unknown,
  steps: readonly Step[],
  path: Path,
  edit: Edit,
  visitor: Visitor,
): void {
  const [first, ...rest] = steps;
  if (first === undefined) {
    if (node === undefined || node === null) visitor.absent(path);
    else if (isScalar(node)) visitor.scalar(node, path);
    else if (edit.ifValue === null) visitor.problem(standing(node));
    return;
  }
  if (node === undefined || node === null || isEmpty(node)) {
    if (!steps.some(({ kind }) => kind === 'every')) visitor.absent([...path, ...steps.map(keyOf)]);
    return;
  }
  if (!isCollection(node)) {
    visitor.problem(standing(node));
    return;
  }
  if (first.kind === 'every') {
    for (const key of keysOf(node)) walk(node.get(key, true), rest, [...path, key], edit, visitor);
    return;
  }
  const step = isSeq(node) ? listIndex(first) : first;
  if ((step.kind === 'index') !== isSeq(node)) {
    visitor.problem(step.kind === 'index' ? 'there is no list.' : 'there is a list.');
  } else {
    const key = isSeq(node) ? Math.min(Number(keyOf(step)), node.items.length) : keyOf(step);
    for (const value of valuesOf(node, key)) walk(value, rest, [...path, key], edit, visitor);
  }
}

/** All values of a repeated key, because most readers take the last. */
function valuesOf(
  node: { get(key: unknown, keep: true): unknown },
  key: string | number,
): unknown[] {
  const first = node.get(key, true);
  if (!isMap(node)) return [first];
  const same = node.items.filter((pair) => isScalar(pair.key) && pair.key.value === key);
  return same.length < 2 ? [first] : same.map((pair) => pair.value);
}

function keyOf(step: Step): string | number {
  if (step.kind === 'every') throw new Error('a step of every key has no key');
  return step.kind === 'index' ? step.index : step.key;
}

function keysOf(node: { readonly items: readonly unknown[] }): (string | number)[] {
  if (isSeq(node)) return node.items.map((_, index) => index);
  return node.items.flatMap((pair) => {
    const key = (pair as { readonly key: unknown }).key;
    return isScalar(key) && typeof key.value === 'string' ? [key.value] : [];
  });
}

function standing(node: unknown): string {
  return isAlias(node) ? 'a reference stands there.' : 'there is no single value.';
}

function isEmpty(node: unknown): boolean {
  return isScalar(node) && (node.value === '' || node.value === null) && node.type === Scalar.PLAIN;
}

function isSpliced(node: Scalar): boolean {
  if (isEmpty(node) || node.range === null || node.range === undefined) return false;
  return (
    node.type === Scalar.PLAIN ||
    node.type === Scalar.QUOTE_DOUBLE ||
    node.type === Scalar.QUOTE_SINGLE
  );
}

function written(current: unknown, node: Scalar | null, edit: Edit): Written | null {
  const known = node === null ? null : typeof current === 'string' ? current : '';
  const value = valueAfter(known, edit);
  if (value === null) return null;
  const isPlainNow = node === null || node.type === Scalar.PLAIN;
  const type = isPlainNow ? meaning(known) : known;
  const result = typed(value, type, known ?? '');
  if (typeof result !== 'string') {
    const text = result instanceof NumberText ? numberOf(result.text) : booleanOf(result, known);
    return node !== null && text === known && isPlainNow ? null : { value: text, type: 'PLAIN' };
  }
  if (node !== null && result === known && typeof type === 'string') return null;
  if (node?.type === Scalar.QUOTE_SINGLE && !UNPRINTABLE.test(result)) {
    return { value: result, type: 'QUOTE_SINGLE' };
  }
  const plain = node?.type !== Scalar.QUOTE_DOUBLE && isPlain(result);
  return { value: result, type: plain ? 'PLAIN' : 'QUOTE_DOUBLE' };
}

/** Numbers of YAML 1.1 and 1.2. */
const NUMBER =
  /^(?:[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.[\d_]+)(?:[eE][-+]?\d+)?|[-+]?0[xo][\da-fA-F_]+|[-+]?\.inf|\.nan)$/i;
const BOOLEANS = [
  ['true', 'false'],
  ['yes', 'no'],
  ['on', 'off'],
] as const;

/** The type of a plain scalar, if it must be kept. */
function meaning(text: string | null): unknown {
  if (text === null || text === '' || /^(?:~|null)$/i.test(text)) return undefined;
  if (/^(?:true|false|yes|no|on|off)$/i.test(text)) return true;
  return NUMBER.test(text) ? 0 : text;
}

/** YAML 1.1 takes an exponent for one only after a fraction and with its sign. */
function numberOf(text: string): string {
  return text.replace(
    /^([^.eE]*)(\.\d+)?[eE]([-+]?)/,
    (_, whole: string, fraction: string | undefined, sign: string) =>
      `${whole}${fraction ?? '.0'}e${sign || '+'}`,
  );
}

/** In the words and letters of the value that stands there. */
function booleanOf(value: boolean, known: string | null): string {
  const current = known ?? '';
  const words = BOOLEANS.find((pair) => pair.some((word) => word === current.toLowerCase()));
  const [yes, no] = words ?? BOOLEANS[0];
  const word = value ? yes : no;
  if (words === undefined || current === current.toLowerCase()) return word;
  if (current === current.toUpperCase()) return word.toUpperCase();
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Whether the text is a plain string for every parser in any context. */
function isPlain(text: string): boolean {
  if (!/^[A-Za-z/][\w ./@+-]*$/.test(text) || text.endsWith(' ')) return false;
  return !/^(?:null|true|false|yes|no|on|off|y|n)$/i.test(text);
}

function splice(text: string, replaced: ReadonlyMap<Scalar, Written>): string {
  const places = [...replaced].map(([node, value]) => ({ range: node.range ?? [0, 0, 0], value }));
  let result = text;
  for (const { range, value } of places.toSorted((a, b) => b.range[0] - a.range[0])) {
    result = result.slice(0, range[0]) + shown(value) + result.slice(range[1]);
  }
  return result;
}

/** Characters that YAML 1.1 folds, refuses or drops unless it is escaped. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\ufeff\ufffe\uffff]/u;

function shown({ value, type }: Written): string {
  if (type === 'PLAIN') return value;
  if (type === 'QUOTE_SINGLE') return `'${value.replaceAll("'", "''")}'`;
  return JSON.stringify(value).replaceAll(
    new RegExp(UNPRINTABLE, 'gu'),
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function add(
  text: string,
  missing: readonly { readonly path: Path; readonly value: Written }[],
  problems: string[],
): string {
  const document = read(text);
  if (isEmpty(document.contents)) document.contents = null;
  // The library would write some characters as they are.
  let name = 'value';
  const names = missing.map(({ path }) => path.join(' ')).join(' ');
  while (text.includes(name) || names.includes(name)) name += '_';
  for (const [index, { path }] of missing.entries()) {
    const node = new Scalar(`${name}${index}x`);
    node.type = 'PLAIN';
    try {
      const old = document.getIn(path, true);
      if (isScalar(old)) {
        node.comment = old.comment ?? null;
        node.commentBefore = old.commentBefore ?? null;
        if (old.anchor !== undefined) node.anchor = old.anchor;
      }
      clearEmpty(document, path);
      document.setIn(path, node);
    } catch {
      problems.push(`"${path.join('.')}": it cannot be added there.`);
    }
  }
  const indent = /^[^#\n]*:[ \t]*\n( +)[^-\s#]/m.exec(text)?.[1]?.length ?? 2;
  const indentSeq = !/^( *)[^#\s-][^#\n]*:[ \t]*\n\1- /m.test(text);
  const flowCollectionPadding = /[{[] /.test(text);
  try {
    const written = document
      .toString({ lineWidth: 0, indent, indentSeq, flowCollectionPadding })
      .replaceAll(new RegExp(`${name}(\\d+)x`, 'g'), (whole, index: string) => {
        const one = missing[Number(index)];
        return one === undefined ? whole : shown(one.value);
      });
    return text.includes('\r\n') ? written.replaceAll(/\r?\n/g, '\r\n') : written;
  } catch (error) {
    throw new Unreadable(`it cannot be written again: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** `key:` without a value may become a map. */
function clearEmpty(document: Document, path: Path): void {
  for (let length = 1; length < path.length; length += 1) {
    const part = path.slice(0, length);
    if (isEmpty(document.getIn(part, true))) document.deleteIn(part);
  }
}
