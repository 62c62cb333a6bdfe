import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import {
  MAX_YAML_DEPTH,
  parseYaml,
  START,
  type YamlDocument,
} from '@portcullis/core/yaml/parse-yaml.ts';
import type { MistakeList } from '../mistakes.ts';
import { type Place, type Placed, Places } from './places.ts';
import { MAX_EGG_BYTES, MAX_FLEET_BYTES } from './text-file.ts';

/**
 * YAML as plain values, and the position of each. Mappings have no prototype, so that no key is special.
 * The file's size, its depth and the expansion of its anchors are bounded, because the file is not trusted.
 */
export interface Located {
  readonly value: unknown;
  readonly places: Places;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const MAX_EXPANDED = 50_000;
const UNSTORABLE =
  'This text has a NUL or half of a surrogate pair, which no database takes: leave it out.';

/** Returns null when the text is not YAML; the mistakes say why. */
export function locateYaml(text: string, env: Environment, mistakes: MistakeList): Located | null {
  const parsed = withoutEnvironment(() => parseYaml(text, { maxBytes: MAX_FLEET_BYTES }));
  if (parsed.ok) return new Walk(parsed, env, mistakes).run();
  for (const error of parsed.errors) mistakes.add(error, error.message);
  return null;
}

/**
 * Runs work that does not wait, with no variable of the environment. The library reads a variable for each lexeme, and
 * `process.env` searches that of the process each time: a tenth of the reading of a large file.
 */
function withoutEnvironment<T>(work: () => T): T {
  const { env } = process;
  process.env = {};
  try {
    return work();
  } finally {
    process.env = env;
  }
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
  /** The offset of the parent, for nodes without one. */
  readonly at: number;
  readonly depth: number;
  readonly inAlias: boolean;
}

class Walk {
  readonly #document: Document.Parsed;
  readonly #positionOf: YamlDocument['positionOf'];
  readonly #env: Environment;
  readonly #mistakes: MistakeList;
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
    const { value, place } = this.#read(this.#document.contents, {
      at: 0,
      depth: 0,
      inAlias: false,
    });
    if (this.#expanded > MAX_EXPANDED) return null;
    return { value, places: new Places(place, this.#positionOf) };
  }

  #read(node: Node | null, { at: parent, depth, inAlias }: Context): Placed {
    const place = node?.range?.[0] ?? parent;
    if (inAlias) this.#expanded += 1;
    if (this.#expanded > MAX_EXPANDED || depth > MAX_YAML_DEPTH) {
      this.#add(place, 'The anchors of this file expand to more than it could hold.');
      this.#expanded = MAX_EXPANDED + 1;
      return { value: null, place };
    }
    if (isAlias(node)) {
      const meant = this.#anchors.get(node.source);
      if (meant === undefined)
        this.#add(place, `There is no anchor &${shorten(node.source)} above.`);
      return this.#read(meant ?? null, { at: place, depth: depth + 1, inAlias: true });
    }
    if (node?.anchor !== undefined) this.#anchors.set(node.anchor, node);
    const inside = { at: place, depth: depth + 1, inAlias };
    if (isMap(node)) return this.#readMap(node.items, inside);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#read(asNode(item), inside));
      const places = items.map((item) => item.place);
      return {
        value: items.map((item) => item.value),
        place: { at: place, names: null, keys: [], inside: places },
      };
    }
    if (!isScalar(node)) return { value: null, place };
    if (typeof node.value !== 'string') return { value: node.value, place };
    const refuse = (problem: string): void =>
      this.#mistakes.addUnreadable(this.#positionOf(place), problem);
    const text = substitute(node.value, this.#env, refuse);
    if (text.includes('\0') || !text.isWellFormed()) refuse(UNSTORABLE);
    return { value: text, place };
  }

  #readMap(
    items: readonly { readonly key: unknown; readonly value: unknown }[],
    context: Context,
  ): Placed {
    const members: Record<string, unknown> = Object.create(null);
    const names: string[] = [];
    const keys: number[] = [];
    const inside: Place[] = [];
    for (const { key, value } of items) {
      const name = nameIn(key);
      const keyAt = asNode(key)?.range?.[0] ?? context.at;
      if (name === null) {
        this.#add(keyAt, 'A name of a field is plain text.');
        continue;
      }
      if (Object.hasOwn(members, name)) {
        this.#add(keyAt, `The field "${shorten(name)}" is here twice.`);
        continue;
      }
      const { value: member, place } = this.#read(asNode(value), { ...context, at: keyAt });
      members[name] = member;
      names.push(name);
      keys.push(keyAt);
      inside.push(place);
    }
    return { value: members, place: { at: context.at, names, keys, inside } };
  }

  #add(offset: number, message: string): void {
    this.#mistakes.add(this.#positionOf(offset), message);
  }
}

/** Replaces `${NAME}` by the environment variable and `$${` by `${`, in values only and not recursively. */
function substitute(text: string, env: Environment, refuse: (problem: string) => void): string {
  if (!text.includes('${')) return text;
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
