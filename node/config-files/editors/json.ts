import { type Edit, type Editor, Unreadable, valueAfter } from './edit.ts';
import { fitsNothing, listIndex, NumberText, parsePath, type Step, typed } from './path.ts';

type Container = Record<string, unknown> | unknown[];

/** Keeps the order, the indentation and every digit of numbers of a JSON file. */
export const editJson: Editor = (text, edits) => {
  const root = parseDocument(text);
  const before = JSON.stringify(root);
  const problems = edits.flatMap((edit) => editDocument(root, edit, numberOf));
  if (JSON.stringify(root) === before) return { text, problems };
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '    ';
  const end = text.trim() === '' || /\n\s*$/.test(text) ? '\n' : '';
  return { text: `${JSON.stringify(root, null, indent.slice(0, 10))}${end}`, problems };
};

function parseDocument(text: string): Container {
  if (text.trim() === '') return {};
  let root: unknown;
  try {
    root = JSON.parse(text, keepDigits);
  } catch (error) {
    throw new Unreadable(`it is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (!isContainer(root)) throw new Unreadable('it is neither an object nor a list');
  return root;
}

/** Numbers that a double cannot represent, such as Steam ids, keep their source text. */
function keepDigits(
  this: unknown,
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return String(value) === context.source ? value : rawJson(context.source);
}

function numberOf(text: string): unknown {
  return String(Number(text)) === text ? Number(text) : rawJson(text);
}

/** In ECMAScript since 2025, but not yet in TypeScript's library. */
const { rawJSON: rawJson, isRawJSON: isRawJson } = JSON as unknown as {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
};

/**
 * Sets a value in a document of plain objects and lists. Returns problems in sentences. `numberOf` makes the format's
 * number of a text in the notation of JSON.
 */
export function editDocument(
  root: Container,
  edit: Edit,
  numberOf: (text: string) => unknown,
): readonly string[] {
  const steps = parsePath(edit.match);
  if (steps === null || steps.length === 0) return [`"${edit.match}" is no path.`];
  const problems: string[] = [];
  let reached = false;
  walk(root, steps, edit, {
    numberOf,
    reach: () => (reached = true),
    problem: (what) => void problems.push(`"${edit.match}": ${what}`),
  });
  if (!reached && problems.length === 0 && edit.ifValue === null) return [fitsNothing(edit)];
  return problems;
}

interface Context {
  numberOf(text: string): unknown;
  /** At the end of the path. */
  reach(): void;
  problem(what: string): void;
}

function walk(at: Container, steps: readonly Step[], edit: Edit, context: Context): void {
  const [first, ...rest] = steps;
  if (first === undefined) return;
  if (first.kind === 'every') {
    for (const key of Object.keys(at)) walk(at, [stepOf(at, key), ...rest], edit, context);
    return;
  }
  const step = Array.isArray(at) ? listIndex(first) : first;
  if ((step.kind === 'index') !== Array.isArray(at)) {
    context.problem(step.kind === 'index' ? 'there is no list.' : 'there is a list.');
    return;
  }
  const key =
    step.kind === 'index' ? String(Math.min(step.index, (at as unknown[]).length)) : step.key;
  const current = Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined;
  const [next] = rest;
  if (next === undefined) setValue(at, key, current, edit, context);
  else if (isContainer(current)) walk(current, rest, edit, context);
  else if (next.kind === 'every' || edit.ifValue !== null) return;
  else if (current === undefined || current === null) {
    const made: Container = next.kind === 'index' ? [] : {};
    set(at, key, made);
    walk(made, rest, edit, context);
  } else context.problem('a value stands where it would go on.');
}

function setValue(
  at: Container,
  key: string,
  current: unknown,
  edit: Edit,
  { numberOf, reach, problem }: Context,
): void {
  reach();
  if (isContainer(current)) {
    if (edit.ifValue === null) problem('there is no single value.');
    return;
  }
  const known = current === undefined ? null : shownValue(current);
  const value = valueAfter(known, edit);
  if (value === null || String(value) === known) return;
  const isNumber = typeof current === 'bigint' || isRawJson(current);
  const notation = typeof current === 'string' ? '' : (known ?? '');
  const result = typed(value, isNumber ? 0 : current, notation);
  if (result === current) return;
  set(at, key, result instanceof NumberText ? numberOf(result.text) : result);
}

function shownValue(current: unknown): string {
  return isRawJson(current) ? current.rawJSON : String(current);
}

function stepOf(at: Container, key: string): Step {
  return Array.isArray(at) ? { kind: 'index', index: Number(key) } : { kind: 'key', key };
}

/** Never uses a setter, because a key may be `__proto__`. */
function set(at: Container, key: string, value: unknown): void {
  Object.defineProperty(at, key, { value, writable: true, enumerable: true, configurable: true });
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !isRawJson(value);
}
