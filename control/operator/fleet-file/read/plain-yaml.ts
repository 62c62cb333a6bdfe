import type { Place } from './places.ts';

/** A value of the text and its place. */
export interface Placed {
  readonly value: unknown;
  readonly place: Place;
}

/** Deeper texts are left to the library, which bounds them. */
const MAX_DEPTH = 20;
const SPACE = 32;
const NAME = /[A-Za-z_][\w.-]{0,99}:(?=[ \n]|$)/y;
// Texts are bounded, because the matcher may keep a note of each character.
const DOUBLE_QUOTED = /"[^"\\\n]{0,4000}"/y;
const SINGLE_QUOTED = /'[^'\n]{0,4000}'(?!')/y;
/** Up to the end of the line; what ends it earlier, or makes it something else, is looked for in it. */
const BLOCK_TEXT = /[\w$/.(\u00c0-\ud7ff][^\n]{0,4000}(?=\n|$)/y;
const FLOW_TEXT = /[\w/.(\u00c0-\ud7ff](?:[^\n,[\]{}#:]|:(?=[^ \n,[\]{}])|(?<! )#){0,4000}/y;
/** Words that are no text, and others that differ in case. */
const WORD = /^(?:null|true|false)$/i;
const WHOLE = /^(?:0|[1-9]\d{0,14})$/;
/** Texts that begin like a number and cannot be one: addresses, networks, times, ranges of ports, UUIDs. */
const NO_NUMBER = /[:/]|\..*\.|-.*-|^\d+-\d+$/;

/** The text is not plain. */
class NotPlain extends Error {}

/**
 * Reads the forms of YAML that fleet files are made of: mappings and lists in both styles, texts of one line with or
 * without quotes, whole numbers, comments. Returns null for a text with anything else (anchors, texts of several lines,
 * escapes, tabs, mistakes of any kind): the library reads it. What is read is equal to what the library reads, values and
 * places, at a tenth of the time. `textOf` makes the value of a text; null: not this way.
 */
export function readPlainYaml(
  text: string,
  textOf: (written: string) => string | null,
): Placed | null {
  if (/[\t\r\uFEFF]/.test(text)) return null;
  try {
    return new PlainYaml(text, textOf).read();
  } catch (error) {
    if (error instanceof NotPlain) return null;
    throw error;
  }
}

class PlainYaml {
  readonly #text: string;
  readonly #textOf: (written: string) => string | null;
  /** The offset of what is read next. */
  #at = 0;
  /** Its column, where it begins a line or is the first thing behind `- `; -1 behind the last line. */
  #column = 0;
  #depth = 0;

  constructor(text: string, textOf: (written: string) => string | null) {
    this.#text = text;
    this.#textOf = textOf;
  }

  read(): Placed {
    this.#findLine();
    const placed = this.#block();
    if (this.#column !== -1) throw new NotPlain();
    return placed;
  }

  /** Goes to the first character of the next line that has one and is no comment. `#at` is where a line begins. */
  #findLine(): void {
    for (;;) {
      const begin = this.#at;
      this.#skipSpaces();
      const next = this.#text[this.#at];
      if (next === undefined) {
        this.#column = -1;
        return;
      }
      if (next !== '\n' && next !== '#') {
        this.#column = this.#at - begin;
        return;
      }
      const end = this.#text.indexOf('\n', this.#at);
      this.#at = end === -1 ? this.#text.length : end + 1;
    }
  }

  /** Ends a line on which nothing but a comment may follow. */
  #endLine(): void {
    this.#skipComment();
    const next = this.#text[this.#at];
    if (next !== undefined && next !== '\n') throw new NotPlain();
    if (next === '\n') this.#at += 1;
    this.#findLine();
  }

  #block(): Placed {
    this.#enter();
    const placed = this.#isItem() ? this.#list() : this.#mapping();
    this.#depth -= 1;
    return placed;
  }

  #isItem(): boolean {
    return this.#text.startsWith('- ', this.#at);
  }

  #mapping(): Placed {
    const column = this.#column;
    const value: Record<string, unknown> = Object.create(null);
    const names: string[] = [];
    const keys: number[] = [];
    const inside: Place[] = [];
    const at = this.#at;
    while (this.#column === column) {
      keys.push(this.#at);
      const name = this.#name(value);
      const next = this.#text[this.#at];
      const isBelow = next === '\n' || next === '#' || next === undefined;
      const placed = isBelow ? this.#below(column) : this.#inLine(column);
      value[name] = placed.value;
      names.push(name);
      inside.push(placed.place);
    }
    return { value, place: { at, names, keys, inside } };
  }

  /** The name of a member that the mapping does not have yet, and the spaces behind it. */
  #name(members: object): string {
    const name = this.#match(NAME).slice(0, -1);
    if (WORD.test(name) || name in members) throw new NotPlain();
    this.#skipSpaces();
    return name;
  }

  /** The value of a member on the lines below its name; of a list, the column may be that of the name. */
  #below(column: number): Placed {
    this.#endLine();
    if (this.#column > column || (this.#column === column && this.#isItem())) return this.#block();
    throw new NotPlain();
  }

  #list(): Placed {
    const column = this.#column;
    const value: unknown[] = [];
    const inside: Place[] = [];
    const at = this.#at;
    while (this.#column === column && this.#isItem()) {
      const dash = this.#at;
      this.#at += 1;
      this.#skipSpaces();
      const isBlock = this.#isBlock();
      if (isBlock) this.#column += this.#at - dash;
      const placed = isBlock ? this.#block() : this.#inLine(column);
      value.push(placed.value);
      inside.push(placed.place);
    }
    return { value, place: { at, names: null, keys: [], inside } };
  }

  #isBlock(): boolean {
    NAME.lastIndex = this.#at;
    return this.#isItem() || NAME.test(this.#text);
  }

  /** A value on the line of its name or dash. What is on the next line and further in would belong to it, or is wrong. */
  #inLine(column: number): Placed {
    const placed = this.#value(column) ?? this.#blockText();
    this.#endLine();
    if (this.#column > column) throw new NotPlain();
    return placed;
  }

  /** A value that shows its end. */
  #value(column: number): Placed | null {
    const place = this.#at;
    switch (this.#text.charAt(place)) {
      case '{':
        return this.#flowMapping(column);
      case '[':
        return this.#flowList(column);
      case '"':
        return { value: this.#made(this.#match(DOUBLE_QUOTED).slice(1, -1)), place };
      case "'":
        return { value: this.#made(this.#match(SINGLE_QUOTED).slice(1, -1)), place };
      default:
        return null;
    }
  }

  #blockText(): Placed {
    const place = this.#at;
    const line = this.#match(BLOCK_TEXT);
    const comment = line.indexOf(' #');
    const written = trimSpaces(comment === -1 ? line : line.slice(0, comment));
    if (written.includes(': ') || written.endsWith(':')) throw new NotPlain();
    this.#at = place + written.length;
    return { value: this.#scalar(written), place };
  }

  #flowMapping(column: number): Placed {
    this.#enter();
    const value: Record<string, unknown> = Object.create(null);
    const names: string[] = [];
    const keys: number[] = [];
    const inside: Place[] = [];
    const at = this.#at;
    this.#at += 1;
    this.#skipInFlow(column);
    while (this.#text[this.#at] !== '}') {
      keys.push(this.#at);
      const name = this.#name(value);
      const placed = this.#value(column) ?? this.#flowText();
      value[name] = placed.value;
      names.push(name);
      inside.push(placed.place);
      this.#endItem('}', column);
    }
    this.#at += 1;
    this.#depth -= 1;
    return { value, place: { at, names, keys, inside } };
  }

  #flowList(column: number): Placed {
    this.#enter();
    const value: unknown[] = [];
    const inside: Place[] = [];
    const at = this.#at;
    this.#at += 1;
    this.#skipInFlow(column);
    while (this.#text[this.#at] !== ']') {
      const placed = this.#value(column) ?? this.#flowText();
      value.push(placed.value);
      inside.push(placed.place);
      this.#endItem(']', column);
    }
    this.#at += 1;
    this.#depth -= 1;
    return { value, place: { at, names: null, keys: [], inside } };
  }

  #flowText(): Placed {
    const place = this.#at;
    const written = trimSpaces(this.#match(FLOW_TEXT));
    this.#at = place + written.length;
    return { value: this.#scalar(written), place };
  }

  /** Goes to the next item or to what closes the collection. */
  #endItem(close: '}' | ']', column: number): void {
    this.#skipInFlow(column);
    if (this.#text[this.#at] === ',') {
      this.#at += 1;
      this.#skipInFlow(column);
    } else if (this.#text[this.#at] !== close) throw new NotPlain();
  }

  /** Skips spaces, comments and ends of lines; lines of a flow collection are further in than `column`. */
  #skipInFlow(column: number): void {
    let begin = -1;
    for (;;) {
      this.#skipComment();
      if (this.#text[this.#at] !== '\n') break;
      this.#at += 1;
      begin = this.#at;
    }
    if (begin !== -1 && this.#at - begin <= column) throw new NotPlain();
  }

  #scalar(written: string): unknown {
    const first = written.charCodeAt(0);
    // Digits and the full stop.
    if (first === 46 || (first >= 48 && first <= 57)) {
      if (WHOLE.test(written)) return Number(written);
      if (!NO_NUMBER.test(written)) throw new NotPlain();
    } else if (written.length <= 5 && WORD.test(written)) {
      if (written === 'true' || written === 'false') return written === 'true';
      throw new NotPlain();
    }
    return this.#made(written);
  }

  #made(written: string): string {
    const made = this.#textOf(written);
    if (made === null) throw new NotPlain();
    return made;
  }

  #enter(): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new NotPlain();
  }

  /** Skips spaces and, behind a space, a comment. */
  #skipComment(): void {
    this.#skipSpaces();
    if (this.#text[this.#at] !== '#' || this.#text[this.#at - 1] !== ' ') return;
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#text.length : end;
  }

  #skipSpaces(): void {
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at += 1;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined) throw new NotPlain();
    this.#at += found.length;
    return found;
  }
}

/** Other white space belongs to a text. */
function trimSpaces(text: string): string {
  let end = text.length;
  while (text.charCodeAt(end - 1) === SPACE) end -= 1;
  return text.slice(0, end);
}
