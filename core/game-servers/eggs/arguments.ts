import { failed, type Parsed, parsed } from '../../net/parsed.ts';

const MAX_ARGUMENTS = 1024;

/**
 * Splits a command line into words like a POSIX shell. Variables, globs, pipes, substitutions and comments are plain
 * characters here.
 *
 *     'text'    literal
 *     "text"    literal, except \" and \\
 *     \c        the character
 *     spaces    end an argument; so do tabs and line breaks
 *
 * `expand` returns the value of a part of the line without quotes. Outside of quotes the value is split at spaces (and is
 * no argument if empty), as a shell does with `$X`; quotes in it are plain characters, so that a value can never open or
 * close a quote.
 */
export function splitArguments(
  line: string,
  expand: (part: string) => string = (part) => part,
): Parsed<readonly string[]> {
  const splitting = new Splitting(expand);
  for (let at = 0; at < line.length; ) {
    const char = line[at] as string;
    if (char === "'" || char === '"') {
      const end = closing(line, at, char);
      if (end === -1)
        return failed(`a quote (${char}) opens at character ${at + 1} and never closes`);
      splitting.quoted(unquoted(line.slice(at + 1, end), char));
      at = end + 1;
    } else if (char === '\\') {
      if (at + 1 === line.length) return failed('a backslash stands at the end');
      splitting.plain(line[at + 1] as string);
      at += 2;
    } else if (isSpace(char)) {
      splitting.endArgument();
      at += 1;
    } else {
      const end = bareEnd(line, at);
      splitting.bare(line.slice(at, end));
      at = end;
    }
  }
  splitting.endArgument();
  const found = splitting.done;
  if (found.length > MAX_ARGUMENTS) return failed(`more than ${MAX_ARGUMENTS} arguments`);
  return parsed(found);
}

class Splitting {
  readonly done: string[] = [];
  private current: string | null = null;
  private readonly expand: (part: string) => string;

  constructor(expand: (part: string) => string) {
    this.expand = expand;
  }

  plain(text: string): void {
    this.current = (this.current ?? '') + text;
  }

  quoted(text: string): void {
    this.plain(this.expand(text));
  }

  /** Text of the line itself has no spaces here; expanded values may. */
  bare(part: string): void {
    const expanded = this.expand(part);
    const words = expanded.split(/[ \t\r\n]+/);
    for (const [index, word] of words.entries()) {
      if (index > 0) this.endArgument();
      if (word !== '') this.plain(word);
    }
  }

  endArgument(): void {
    if (this.current !== null) this.done.push(this.current);
    this.current = null;
  }
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\t' || char === '\r' || char === '\n';
}

/** A template may have spaces inside its braces: `{{ NAME }}` is one part. */
function bareEnd(line: string, from: number): number {
  let at = from;
  while (at < line.length && !/[\s'"\\]/.test(line[at] as string)) {
    const template = /^\{\{[^{}'"\\]{0,200}\}\}/.exec(line.slice(at, at + 204));
    at += template === null ? 1 : template[0].length;
  }
  return at;
}

function closing(line: string, from: number, quote: string): number {
  for (let at = from + 1; at < line.length; at += 1) {
    if (line[at] === quote) return at;
    if (quote === '"' && line[at] === '\\') at += 1;
  }
  return -1;
}

function unquoted(text: string, quote: string): string {
  return quote === '"' ? text.replaceAll(/\\(["\\])/g, '$1') : text;
}
