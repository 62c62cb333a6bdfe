import type { Parsed } from '@portcullis/core/net/parsed.ts';

/** The deepest nesting, enough for every body of the contract. */
export const MAX_DEPTH = 32;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const SPACE = /[ \t\n\r]*/y;
const LITERAL = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN_STRING_END = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Reads one JSON text (RFC 8259) from bytes, and refuses what leaves room for two readers to disagree:
 * a byte order mark, invalid UTF-8, a key that stands twice in an object, nesting beyond `MAX_DEPTH`.
 *
 *     value  = object / array / string / number / "true" / "false" / "null"
 *     object = "{" [ string ":" value *( "," string ":" value ) ] "}"
 *     array  = "[" [ value *( "," value ) ] "]"
 *
 * `JSON.parse` neither sees repeated keys nor says reliably where a mistake is. Linear in the length of
 * the input; positions are counted in UTF-16 units from 0.
 */
export function parseStrictJson(bytes: Uint8Array): Parsed<unknown> {
  if (bytes.length === 0) return refuse('The body is empty; a JSON object is expected.');
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse('The body is not valid UTF-8.');
  }
  if (text.charCodeAt(0) === 0xfeff) {
    return refuse('The body begins with a byte order mark; JSON is sent without one.');
  }
  try {
    return { ok: true, value: new Reader(text).readText() };
  } catch (error) {
    if (error instanceof Mistake) return refuse(error.message);
    throw error;
  }
}

function refuse(reason: string): Parsed<never> {
  return { ok: false, reason };
}

class Mistake extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readText(): unknown {
    const value = this.#readValue();
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail();
    return value;
  }

  #readValue(): unknown {
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === '{') return this.#readNested(() => this.#readObject());
    if (first === '[') return this.#readNested(() => this.#readArray());
    if (first === '"') return this.#readString();
    const literal = this.#match(LITERAL);
    if (literal !== '') return literal === 'null' ? null : literal === 'true';
    const number = this.#match(NUMBER);
    if (number === '') this.#fail();
    return Number(number);
  }

  #readNested<T>(read: () => T): T {
    if (this.#depth === MAX_DEPTH) {
      throw new Mistake(`The JSON nests deeper than ${MAX_DEPTH} levels at position ${this.#at}.`);
    }
    this.#depth++;
    this.#at++;
    const value = read();
    this.#depth--;
    return value;
  }

  #readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#skipSpace();
    if (this.#take('}')) return object;
    do {
      this.#skipSpace();
      const at = this.#at;
      const key = this.#readString();
      if (Object.hasOwn(object, key)) {
        throw new Mistake(`The key ${quote(key)} stands twice in one object, at position ${at}.`);
      }
      this.#skipSpace();
      if (!this.#take(':')) this.#fail();
      const value = this.#readValue();
      // Assigning to `__proto__` would set the prototype instead of a key.
      if (key === '__proto__') defineOwn(object, key, value);
      else object[key] = value;
      this.#skipSpace();
    } while (this.#take(','));
    if (!this.#take('}')) this.#fail();
    return object;
  }

  #readArray(): unknown[] {
    const array: unknown[] = [];
    this.#skipSpace();
    if (this.#take(']')) return array;
    do {
      array.push(this.#readValue());
      this.#skipSpace();
    } while (this.#take(','));
    if (!this.#take(']')) this.#fail();
    return array;
  }

  #readString(): string {
    const start = this.#at;
    if (!this.#take('"')) this.#fail();
    let escaped = false;
    for (;;) {
      this.#match(PLAIN_STRING_END);
      if (this.#take('"')) break;
      if (this.#match(ESCAPE) === '') this.#fail();
      escaped = true;
    }
    if (!escaped) return this.#text.slice(start + 1, this.#at - 1);
    return String(JSON.parse(this.#text.slice(start, this.#at)));
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(sticky: RegExp): string {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #fail(): never {
    const where = `at position ${this.#at}`;
    if (this.#at >= this.#text.length)
      throw new Mistake(`The body is not JSON: it ends too early, ${where}.`);
    throw new Mistake(`The body is not JSON: unexpected content ${where}.`);
  }
}

function defineOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

function quote(key: string): string {
  return JSON.stringify(key.length > 64 ? `${key.slice(0, 64)}…` : key);
}
