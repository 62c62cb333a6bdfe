import { type Document, isAlias, isCollection, isScalar, isSeq, parseDocument, Scalar } from 'yaml';
import { type Edit, type Editor, Unreadable, valueAfter } from './edit.ts';
import { parsePath, type Step, typed } from './path.ts';

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
    if (steps === null || steps.length === 0) problems.push(`"${edit.match}" is no path.`);
    else {
      walk(document.contents, steps, [], edit, {
        scalar: (node, path) => {
          const value = written(replaced.get(node)?.value ?? node.value, node, edit);
          if (value === null) return;
          if (isSpliced(node)) replaced.set(node, value);
          else missing.push({ path, value });
        },
        absent: (path) => {
          const value = written(null, null, edit);
          if (value !== null) missing.push({ path, value });
        },
        problem: (what) => problems.push(`"${edit.match}": ${what}`),
      });
    }
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
  const [step, ...rest] = steps;
  if (step === undefined) {
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
  if (step.kind === 'every') {
    for (const key of keysOf(node)) walk(node.get(key, true), rest, [...path, key], edit, visitor);
  } else if ((step.kind === 'index') !== isSeq(node)) {
    visitor.problem(step.kind === 'index' ? 'there is no list.' : 'there is a list.');
  } else {
    const key = isSeq(node) ? Math.min(Number(keyOf(step)), node.items.length) : keyOf(step);
    walk(node.get(key, true), rest, [...path, key], edit, visitor);
  }
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
  const type = node !== null && node.type !== Scalar.PLAIN ? known : meaning(known);
  const result = typed(value, type);
  if (node !== null && String(result) === known && typeof result === typeof type) return null;
  if (typeof result !== 'string') return { value: String(result), type: 'PLAIN' };
  if (node?.type === Scalar.QUOTE_SINGLE && !/[\p{Cc}\u2028\u2029]/u.test(result)) {
    return { value: result, type: 'QUOTE_SINGLE' };
  }
  const plain = node?.type !== Scalar.QUOTE_DOUBLE && isPlain(result);
  return { value: result, type: plain ? 'PLAIN' : 'QUOTE_DOUBLE' };
}

/** The type of a plain scalar, if it must be kept. */
function meaning(text: string | null): unknown {
  if (text === null || text === '' || /^(?:~|null)$/i.test(text)) return undefined;
  if (/^(?:true|false|yes|no|on|off)$/i.test(text)) return true;
  return /^[-+.\d][\d._eE+-]*$/.test(text) ? 0 : text;
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

function shown({ value, type }: Written): string {
  if (type === 'PLAIN') return value;
  return type === 'QUOTE_SINGLE' ? `'${value.replaceAll("'", "''")}'` : JSON.stringify(value);
}

function add(
  text: string,
  missing: readonly { readonly path: Path; readonly value: Written }[],
  problems: string[],
): string {
  const document = read(text);
  if (isEmpty(document.contents)) document.contents = null;
  for (const { path, value } of missing) {
    const node = new Scalar(value.value);
    node.type = value.type;
    try {
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
    return document.toString({ lineWidth: 0, indent, indentSeq, flowCollectionPadding });
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
