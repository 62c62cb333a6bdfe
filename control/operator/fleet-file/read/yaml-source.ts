import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import {
  MAX_YAML_DEPTH,
  parseYaml,
  type Position,
  START,
  type YamlDocument,
} from '@portcullis/core/yaml/parse-yaml.ts';
import type { MistakeList } from '../mistakes.ts';
import { MAX_EGG_BYTES, MAX_FLEET_BYTES } from './text-file.ts';

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

const MAX_EXPANDED = 50_000;

/** Returns null when the text is not YAML; the mistakes say why. */
export function locateYaml(text: string, env: Environment, mistakes: MistakeList): Located | null {
  const parsed = parseYaml(text, { maxBytes: MAX_FLEET_BYTES });
  if (parsed.ok) return new Walk(parsed, env, mistakes).run();
  for (const error of parsed.errors) mistakes.add(error, error.message);
  return null;
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
  const parsed = parseYaml(text, { maxBytes: MAX_EGG_BYTES });
  if (!parsed.ok) {
    const [{ line, code } = { ...START, code: '' }] = parsed.errors;
    if (code === 'TOO_DEEP')
      return { ok: false, reason: `it is nested more than ${MAX_YAML_DEPTH} levels deep` };
    return { ok: false, reason: `it is neither JSON nor YAML (line ${line}: ${code})` };
  }
  try {
    return { ok: true, value: parsed.document.toJS({ maxAliasCount: 0 }) as unknown };
  } catch {
    return { ok: false, reason: 'it uses anchors, which an egg needs none of' };
  }
}

interface Context {
  /** The position of the parent, for nodes without one. */
  readonly at: Position;
  readonly depth: number;
  readonly inAlias: boolean;
}

class Walk {
  readonly #document: Document.Parsed;
  readonly #positionOf: YamlDocument['positionOf'];
  readonly #env: Environment;
  readonly #mistakes: MistakeList;
  readonly #positions = new Map<string, Position>();
  readonly #keyPositions = new Map<string, Position>();
  /** The last anchor of each name so far. */
  readonly #anchors = new Map<string, Node>();
  #expanded = 0;

  constructor({ document, positionOf }: YamlDocument, env: Environment, mistakes: MistakeList) {
    this.#document = document;
    this.#positionOf = positionOf;
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
    const at = node?.range ? this.#positionOf(node.range[0]) : parent;
    this.#positions.set(pointer, at);
    if (inAlias) this.#expanded += 1;
    if (this.#expanded > MAX_EXPANDED || depth > MAX_YAML_DEPTH) {
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
      const keyAt = keyNode?.range ? this.#positionOf(keyNode.range[0]) : context.at;
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

  /** Replaces `${NAME}` by the environment variable and `$${` by `${`, in values only and not recursively. */
  #substitute(text: string, at: Position): string {
    const refuse = (problem: string): string => {
      this.#mistakes.addUnreadable(at, problem);
      return '';
    };
    return text.replace(/\$\$\{|\$\{([^}]*)\}/g, (whole, name: string | undefined) => {
      if (name === undefined) return '${';
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        return refuse(`"${shorten(whole)}" names no variable; write $\${ for a plain \${.`);
      const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
      if (value === undefined || value === '')
        return refuse(`The environment variable ${shorten(name)} is not set.`);
      return value;
    });
  }
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
