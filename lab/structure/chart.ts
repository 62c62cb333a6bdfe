import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

/** An object of Kubernetes. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: unknown;
}

/** An error that a template or `required` refuses. */
export class ChartError extends Error {
  override readonly name = 'ChartError';
}

const CHART = join(import.meta.dirname, '..', '..', 'deploy', 'chart');

/**
 * The objects of deploy/chart with these values, as `helm template RELEASE` prints them. Knows what our templates use of
 * Helm's language, and throws on anything else. There is no Helm where the tests run.
 */
export function renderChart(values: object = {}, release = 'site'): Manifest[] {
  const shipped = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as object;
  const files = globSync('templates/*', { cwd: CHART }).toSorted();
  const texts = files.map((file) => ({ file, text: readFileSync(join(CHART, file), 'utf8') }));
  const dot = { Values: merged(shipped, values), Release: { Name: release, Namespace: 'default' } };
  const defined = new Map<string, readonly Node[]>();
  const parsed = texts.map(({ file, text }) => ({ file, nodes: parseTemplate(text, defined) }));
  return parsed.flatMap(({ file, nodes }) => {
    if (basename(file).startsWith('_')) return [];
    const text = render(nodes, { dot, variables: new Map([['$', dot]]), defined });
    return parseAllDocuments(text)
      .map((document) => {
        if (document.errors.length > 0) throw new ChartError(`${file}: ${document.errors[0]}`);
        return document.toJS() as Manifest | null;
      })
      .filter((manifest) => manifest !== null);
  });
}

function merged(base: object, over: object): object {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const known = result[key];
    result[key] = isMap(known) && isMap(value) ? merged(known, value) : value;
  }
  return result;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly expression: string }
  | { readonly kind: 'assign'; readonly name: string; readonly expression: string }
  | {
      readonly kind: 'block';
      readonly word: string;
      readonly expression: string;
      readonly body: Node[];
    };

const ACTION = /\{\{(-\s)?\s*(\/\*[^]*?\*\/|[^]*?)\s*(\s-)?\}\}/g;

function parseTemplate(text: string, defined: Map<string, readonly Node[]>): Node[] {
  const open: { word: string; expression: string; body: Node[] }[] = [
    { word: 'root', expression: '', body: [] },
  ];
  const add = (node: Node): void => void open.at(-1)?.body.push(node);
  let at = 0;
  let trims = false;
  for (const match of text.matchAll(ACTION)) {
    const [whole, left, inside = '', right] = match;
    add({ kind: 'text', text: trimmed(text.slice(at, match.index), trims, left !== undefined) });
    at = match.index + whole.length;
    trims = right !== undefined;
    const [, word = '', rest = ''] = /^(\S+)\s*([^]*)$/.exec(inside) ?? [];
    const assigned = /^(\$\w+)\s*:?=\s*([^]*)$/.exec(inside);
    if (inside.startsWith('/*')) continue;
    if (assigned !== null) {
      add({ kind: 'assign', name: assigned[1] ?? '', expression: assigned[2] ?? '' });
    } else if (['if', 'with', 'range', 'define'].includes(word)) {
      open.push({ word, expression: rest, body: [] });
    } else if (word === 'end') {
      const closed = open.pop();
      if (closed === undefined || open.length === 0) throw new ChartError('an end without begin');
      if (closed.word === 'define') defined.set(closed.expression.slice(1, -1), closed.body);
      else add({ kind: 'block', ...closed });
    } else add({ kind: 'output', expression: inside });
  }
  add({ kind: 'text', text: trimmed(text.slice(at), trims, false) });
  if (open.length !== 1) throw new ChartError(`${open.at(-1)?.word} without end`);
  return open[0]?.body ?? [];
}

function trimmed(text: string, left: boolean, right: boolean): string {
  const begun = left ? text.trimStart() : text;
  return right ? begun.trimEnd() : begun;
}

interface Scope {
  readonly dot: unknown;
  readonly variables: Map<string, unknown>;
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}

function render(nodes: readonly Node[], scope: Scope): string {
  return nodes.map((node) => renderNode(node, scope)).join('');
}

function renderNode(node: Node, scope: Scope): string {
  if (node.kind === 'text') return node.text;
  const value = evaluate(node.expression, scope);
  if (node.kind === 'output') return textOf(value);
  if (node.kind === 'assign') {
    scope.variables.set(node.name, value);
    return '';
  }
  if (node.word === 'range') {
    return (value as readonly unknown[])
      .map((dot) => render(node.body, { ...scope, dot }))
      .join('');
  }
  if (isEmpty(value)) return '';
  return render(node.body, node.word === 'with' ? { ...scope, dot: value } : scope);
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object') return !value;
  return value === null || Object.keys(value).length === 0;
}

/** Text as Go prints a value. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`;
  throw new ChartError('a list or a map is printed where a text belongs');
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g;

/** A pipeline: `a b | c`, with parentheses. */
function evaluate(expression: string, scope: Scope): unknown {
  const tokens = expression.match(TOKEN) ?? [];
  let at = 0;
  const term = (): unknown => {
    const token = tokens[at] ?? '';
    at += 1;
    if (token !== '(') return valueOf(token, scope);
    const value = pipeline();
    at += 1;
    return value;
  };
  const pipeline = (): unknown => {
    let piped: readonly unknown[] = [];
    for (;;) {
      const name = FUNCTIONS[tokens[at] ?? ''];
      if (name !== undefined) at += 1;
      const values: unknown[] = [];
      while (at < tokens.length && !['|', ')'].includes(tokens[at] ?? '')) values.push(term());
      const value = name === undefined ? values[0] : name([...values, ...piped], scope);
      if (tokens[at] !== '|') return value;
      at += 1;
      piped = [value];
    }
  };
  return pipeline();
}

function valueOf(token: string, { dot, variables }: Scope): unknown {
  if (token.startsWith('"')) return JSON.parse(token);
  if (/^\d+$/.test(token)) return Number(token);
  const [head = '', ...path] = token.split('.');
  if (head !== '' && !head.startsWith('$')) throw new ChartError(`${token} is not known here`);
  const start = head === '' ? dot : variables.get(head);
  return path
    .filter((name) => name !== '')
    .reduce<unknown>((value, name) => (Object(value) as Record<string, unknown>)[name], start);
}

type Fn = (args: readonly unknown[], scope: Scope) => unknown;

const FUNCTIONS: Readonly<Record<string, Fn>> = {
  not: ([value]) => isEmpty(value),
  quote: ([value]) => JSON.stringify(textOf(value)),
  toJson: ([value]) => JSON.stringify(value),
  default: ([otherwise, value]) => (isEmpty(value) ? otherwise : value),
  printf: ([format, ...values]) => {
    const left = [...values];
    return textOf(format).replaceAll('%s', () => textOf(left.shift()));
  },
  required: ([message, value]) => {
    if (isEmpty(value)) throw new ChartError(textOf(message));
    return value;
  },
  include: ([name, dot], scope) => {
    const nodes = scope.defined.get(textOf(name));
    if (nodes === undefined) throw new ChartError(`nothing defines ${textOf(name)}`);
    return render(nodes, { ...scope, dot });
  },
  nindent: ([count, text]) => `\n${textOf(text).replaceAll(/^/gm, ' '.repeat(Number(count)))}`,
  randAlphaNum: ([count]) => 'x'.repeat(Number(count)),
  // A first installation.
  lookup: () => ({}),
  b64dec: ([value]) => Buffer.from(textOf(value), 'base64').toString(),
};
