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
import type { MistakeList, Position } from '../mistakes.ts';

/**
 * YAML as plain values and where each of them stands. Mappings have no prototype, so that every key is
 * just a key. Everything that a file can make expensive is bounded here: its size, its depth, and what its
 * anchors expand to.
 */
export interface Located {
  readonly value: unknown;
  /** By JSON pointer; the document's own is ''. */
  readonly positions: ReadonlyMap<string, Position>;
  /** Of a member's name, by the JSON pointer of the member. */
  readonly keyPositions: ReadonlyMap<string, Position>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const LARGEST_FILE_BYTES = 4 * 1024 * 1024;
const DEEPEST = 40;
const MOST_EXPANDED = 50_000;
const START: Position = { line: 1, column: 1 };

/** Null when the text is no YAML; the mistakes say why. */
export function locateYaml(text: string, env: Environment, mistakes: MistakeList): Located | null {
  if (text.length > LARGEST_FILE_BYTES) {
    mistakes.add(START, `The file is larger than ${LARGEST_FILE_BYTES / 1024 / 1024} MiB.`);
    return null;
  }
  const deep = findTooDeep(text);
  if (deep !== null) {
    mistakes.add(deep, `This is nested more than ${DEEPEST} levels deep.`);
    return null;
  }
  const lines = new LineCounter();
  // Duplicate keys are found in the walk: the library compares every key with every other.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  });
  for (const error of document.errors.slice(0, 100)) {
    mistakes.add(positionAt(lines, error.pos[0]), wordError(error.code, error.message));
  }
  if (document.errors.length > 0) return null;
  return new Walk(document, lines, env, mistakes).run();
}

function wordError(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'A tab indents here, where YAML takes only spaces.';
  if (code === 'MULTIPLE_DOCS') return 'A second document begins here; a fleet file is one.';
  return `This is no YAML: ${message}.`;
}

/**
 * The library's composer recurses, and deep input ends the process, not only the call. Its lexer does not
 * recurse: so depth is judged by the lexer's tokens first, in flow style by brackets, in block style by the
 * indicators of one line and by its indentation.
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
    if (flow > DEEPEST || inLine > DEEPEST || indented) return { line, column: 1 };
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

interface Place {
  /** Of what it is in: for what has no place of its own. */
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
  /** By name, the last one above. */
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
    const place = { at: START, depth: 0, inAlias: false };
    const value = this.#read(this.#document.contents, '', place);
    if (this.#expanded > MOST_EXPANDED) return null;
    return { value, positions: this.#positions, keyPositions: this.#keyPositions };
  }

  #read(node: Node | null, pointer: string, { at: parent, depth, inAlias }: Place): unknown {
    const at = node?.range ? positionAt(this.#lines, node.range[0]) : parent;
    this.#positions.set(pointer, at);
    if (inAlias) this.#expanded += 1;
    if (this.#expanded > MOST_EXPANDED || depth > DEEPEST) {
      this.#mistakes.add(at, 'The anchors of this file expand to more than it could hold.');
      this.#expanded = MOST_EXPANDED + 1;
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
    place: Place,
  ): unknown {
    const members: Record<string, unknown> = Object.create(null);
    for (const { key, value } of items) {
      const name = nameIn(key);
      const keyNode = asNode(key);
      const keyAt = keyNode?.range ? positionAt(this.#lines, keyNode.range[0]) : place.at;
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
      members[name] = this.#read(asNode(value), member, { ...place, at: keyAt });
    }
    return members;
  }

  /** `${NAME}` is the environment's; `$${` is a plain `${`. Only in values, and never more than once over. */
  #substitute(text: string, at: Position): string {
    return text.replace(/\$\$\{|\$\{([^}]*)\}/g, (whole, name: string | undefined) => {
      if (name === undefined) return '${';
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        this.#mistakes.addUnread(
          at,
          `"${shorten(whole)}" names no variable; write $\${ for a plain \${.`,
        );
        return '';
      }
      const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
      if (value === undefined || value === '') {
        this.#mistakes.addUnread(at, `The environment variable ${shorten(name)} is not set.`);
        return '';
      }
      return value;
    });
  }
}

/** A name as it is written, also where YAML reads it as a number; null: it is none. */
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
