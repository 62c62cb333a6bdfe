import { CORE_SCHEMA, load } from 'js-yaml';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Document,
  parseDocument,
} from 'yaml';
import { MistakeList, type Position } from '../mistakes.ts';
import { MAX_FLEET_BYTES } from './text-file.ts';

/**
 * YAML as plain values, and the position of each. Mappings have no prototype, so that no key is special.
 * The file's size, its depth and the expansion of its anchors are bounded, because the file is not trusted.
 */
export interface Located {
  readonly value: unknown;
  /** Positions of values by JSON pointer; '' is the document. */
  readonly positions: Positions;
  /** Positions of member names, by the JSON pointer of the member. */
  readonly keyPositions: Positions;
}
type Positions = Pick<ReadonlyMap<string, Position>, 'get'>;

export type Environment = Readonly<Record<string, string | undefined>>;

const MAX_DEPTH = 40;
const MAX_EXPANDED = 50_000;
const START: Position = { line: 1, column: 1 };

/** What the two libraries read differently, and anchors, whose expansion only `locateYaml` bounds. */
const ONLY_LOCATED = /(?:^|[\s,:[{])[&*]\S|\d_\d|\b0b[01]/m;

/**
 * As `locateYaml`, in a tenth of its time: positions are found when the first of them is read, which only mistakes do.
 * Returns null wherever something is wrong or unusual: `locateYaml` then says what.
 */
export function readYaml(text: string, env: Environment): Located | null {
  if (text.length > MAX_FLEET_BYTES || ONLY_LOCATED.test(text)) return null;
  const copy = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return substitute(value, env, (problem) => {
        throw new Error(problem);
      });
    }
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    const members: Record<string, unknown> = Object.create(null);
    for (const [name, member] of Object.entries(value)) members[name] = copy(member);
    return members;
  };
  try {
    const value = copy(load(text, { schema: CORE_SCHEMA }));
    let found: Located | null | undefined;
    const locate = (): Located | null => (found ??= locateYaml(text, env, new MistakeList('')));
    const later = (name: 'positions' | 'keyPositions'): Positions => ({
      get: (pointer) => new LaterPosition(() => nearest(locate()?.[name], pointer)),
    });
    return { value, positions: later('positions'), keyPositions: later('keyPositions') };
  } catch {
    return null;
  }
}

/** The position of a pointer. What the file does not write itself, such as a default, is at what contains it. */
function nearest(positions: Positions | undefined, pointer: string): Position {
  for (let place = pointer; place !== ''; place = place.slice(0, place.lastIndexOf('/'))) {
    const found = positions?.get(place);
    if (found !== undefined) return found;
  }
  return START;
}

class LaterPosition implements Position {
  readonly #find: () => Position;

  constructor(find: () => Position) {
    this.#find = find;
  }

  get line(): number {
    return this.#find().line;
  }

  get column(): number {
    return this.#find().column;
  }

  /** Applied files are stored without their text. */
  toJSON(): Position {
    return START;
  }
}

/** Returns null when the text is not YAML; the mistakes say why. */
export function locateYaml(text: string, env: Environment, mistakes: MistakeList): Located | null {
  if (text.length > MAX_FLEET_BYTES) {
    mistakes.add(START, `The file is larger than ${MAX_FLEET_BYTES / 1024 / 1024} MiB.`);
    return null;
  }
  const deep = findTooDeep(text);
  if (deep !== null) {
    mistakes.add(deep, `This is nested more than ${MAX_DEPTH} levels deep.`);
    return null;
  }
  const lines = new LineCounter();
  // The walk finds duplicate keys: the library would compare every key with every other.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  });
  for (const error of document.errors.slice(0, 100)) {
    mistakes.add(positionAt(lines, error.pos[0]), describeError(error.code, error.message));
  }
  if (document.errors.length > 0) return null;
  return new Walk(document, lines, env, mistakes).run();
}

/**
 * YAML of others (eggs) as plain values, without positions and anchors. Never throws; the reason is a sentence without
 * its full stop, and quotes nothing of the text.
 */
export function parsePlainYaml(
  text: string,
):
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string } {
  if (findTooDeep(text) !== null) {
    return { ok: false, reason: `it is nested more than ${MAX_DEPTH} levels deep` };
  }
  const document = parseDocument(text, { uniqueKeys: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined)
    return {
      ok: false,
      reason: `it is neither JSON nor YAML (line ${error.linePos?.[0].line ?? 1}: ${error.code})`,
    };
  try {
    return { ok: true, value: document.toJS({ maxAliasCount: 0 }) as unknown };
  } catch {
    return { ok: false, reason: 'it uses anchors, which an egg needs none of' };
  }
}

function describeError(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'A tab indents here, where YAML takes only spaces.';
  if (code === 'MULTIPLE_DOCS') return 'A second document begins here; a fleet file is one.';
  return `This is no YAML: ${message}.`;
}

/**
 * Checks the depth with the library's lexer, which does not recurse. The composer recurses, and deep input would
 * end the process. Flow style is measured by brackets, block style by the indicators of a line and its indentation.
 */
function findTooDeep(text: string): Position | null {
  let flow = 0;
  let line = 1;
  let inLine = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    else if (flow === 0 && (token === '-' || token === '?' || token === ':')) inLine += 1;
    const indented = inLine === 0 && /^ {160,}$/.test(token);
    if (flow > MAX_DEPTH || inLine > MAX_DEPTH || indented) return { line, column: 1 };
    for (let at = token.indexOf('\n'); at >= 0; at = token.indexOf('\n', at + 1)) {
      line += 1;
      inLine = 0;
    }
  }
  return null;
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

interface Context {
  /** The position of the parent, for nodes without one. */
  readonly at: Position;
  readonly depth: number;
  readonly inAlias: boolean;
}

class Walk {
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #env: Environment;
  readonly #mistakes: MistakeList;
  readonly #positions = new Map<string, Position>();
  readonly #keyPositions = new Map<string, Position>();
  /** The last anchor of each name so far. */
  readonly #anchors = new Map<string, Node>();
  #expanded = 0;

  constructor(
    document: Document.Parsed,
    lines: LineCounter,
    env: Environment,
    mistakes: MistakeList,
  ) {
    this.#document = document;
    this.#lines = lines;
    this.#env = env;
    this.#mistakes = mistakes;
  }

  run(): Located | null {
    const root = { at: START, depth: 0, inAlias: false };
    const value = this.#read(this.#document.contents, '', root);
    if (this.#expanded > MAX_EXPANDED) return null;
    return { value, positions: this.#positions, keyPositions: this.#keyPositions };
  }

  #read(node: Node | null, pointer: string, { at: parent, depth, inAlias }: Context): unknown {
    const at = node?.range ? positionAt(this.#lines, node.range[0]) : parent;
    this.#positions.set(pointer, at);
    if (inAlias) this.#expanded += 1;
    if (this.#expanded > MAX_EXPANDED || depth > MAX_DEPTH) {
      this.#mistakes.add(at, 'The anchors of this file expand to more than it could hold.');
      this.#expanded = MAX_EXPANDED + 1;
      return null;
    }
    if (isAlias(node)) {
      const meant = this.#anchors.get(node.source);
      if (meant === undefined)
        this.#mistakes.add(at, `There is no anchor &${shorten(node.source)} above.`);
      return this.#read(meant ?? null, pointer, { at, depth: depth + 1, inAlias: true });
    }
    if (node?.anchor !== undefined) this.#anchors.set(node.anchor, node);
    const inside = { at, depth: depth + 1, inAlias };
    if (isMap(node)) return this.#readMap(node.items, pointer, inside);
    if (isSeq(node)) {
      return node.items.map((item, index) =>
        this.#read(asNode(item), `${pointer}/${index}`, inside),
      );
    }
    if (!isScalar(node)) return null;
    return typeof node.value === 'string' ? this.#substitute(node.value, at) : node.value;
  }

  #readMap(
    items: readonly { readonly key: unknown; readonly value: unknown }[],
    pointer: string,
    context: Context,
  ): unknown {
    const members: Record<string, unknown> = Object.create(null);
    for (const { key, value } of items) {
      const name = nameIn(key);
      const keyNode = asNode(key);
      const keyAt = keyNode?.range ? positionAt(this.#lines, keyNode.range[0]) : context.at;
      if (name === null) {
        this.#mistakes.add(keyAt, 'A name of a field is plain text.');
        continue;
      }
      const member = `${pointer}/${escapePointer(name)}`;
      if (Object.hasOwn(members, name)) {
        this.#mistakes.add(keyAt, `The field "${shorten(name)}" is here twice.`);
        continue;
      }
      this.#keyPositions.set(member, keyAt);
      members[name] = this.#read(asNode(value), member, { ...context, at: keyAt });
    }
    return members;
  }

  #substitute(text: string, at: Position): string {
    return substitute(text, this.#env, (problem) => this.#mistakes.addUnreadable(at, problem));
  }
}

/** Replaces `${NAME}` by the environment variable and `$${` by `${`, in values only and not recursively. */
function substitute(text: string, env: Environment, refuse: (problem: string) => void): string {
  return text.replace(/\$\$\{|\$\{([^}]*)\}/g, (whole, name: string | undefined) => {
    if (name === undefined) return '${';
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      refuse(`"${shorten(whole)}" names no variable; write $\${ for a plain \${.`);
      return '';
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined || value === '') {
      refuse(`The environment variable ${shorten(name)} is not set.`);
      return '';
    }
    return value;
  });
}

/** Returns a name as it is written, also where YAML reads a number; null when it is not a scalar. */
function nameIn(key: unknown): string | null {
  if (!isScalar(key)) return null;
  if (typeof key.value === 'string') return key.value;
  return typeof key.value === 'number' || typeof key.value === 'boolean' ? `${key.value}` : null;
}

function asNode(item: unknown): Node | null {
  return isMap(item) || isSeq(item) || isScalar(item) || isAlias(item) ? item : null;
}

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function shorten(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a message goes to a terminal
  return text.slice(0, 60).replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '?');
}
