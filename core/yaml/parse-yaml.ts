import {
  Composer,
  type CST,
  type Document,
  Lexer,
  LineCounter,
  Parser,
  YAMLParseError,
} from 'yaml';

/** A position in a text. Both numbers count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export const START: Position = { line: 1, column: 1 };

export interface YamlError extends Position {
  /** The code of the library, `TOO_LARGE` or `TOO_DEEP`. */
  readonly code: string;
  /** A sentence. It may quote the text. */
  readonly message: string;
}

/** A parsed document, which may name a field twice, and the positions of its nodes. */
export interface YamlDocument {
  readonly ok: true;
  readonly document: Document.Parsed;
  /** The position of an offset such as `node.range[0]`. */
  readonly positionOf: (offset: number) => Position;
}

export type ParsedYaml = YamlDocument | { readonly ok: false; readonly errors: YamlError[] };

const MIB = 1024 * 1024;
export const MAX_YAML_DEPTH = 40;
const LISTED_ERRORS = 100;

/**
 * Parses YAML that is not trusted: its size and depth are bounded. The caller bounds the expansion of anchors, and refuses
 * a field that is named twice, because the library would compare every name with every other.
 */
export function parseYaml(text: string, { maxBytes }: { readonly maxBytes: number }): ParsedYaml {
  const refuse = (at: Position, code: string, message: string): ParsedYaml => ({
    ok: false,
    errors: [{ ...at, code, message }],
  });
  if (text.length > maxBytes) {
    return refuse(START, 'TOO_LARGE', `The file is larger than ${maxBytes / MIB} MiB.`);
  }
  try {
    const document = compose(text);
    const positionOf = positionsIn(text);
    if (document.errors.length === 0) return { ok: true, document, positionOf };
    const errors = document.errors.slice(0, LISTED_ERRORS).map(({ code, message, pos }) => ({
      ...positionOf(pos[0]),
      code,
      message: describeError(code, message),
    }));
    return { ok: false, errors };
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    const why = `This is nested more than ${MAX_YAML_DEPTH} levels deep.`;
    return refuse({ line: error.line, column: 1 }, 'TOO_DEEP', why);
  }
}

/** The position of an offset in a text. */
function positionsIn(text: string): (offset: number) => Position {
  const lines = new LineCounter();
  for (let at = 0; at >= 0; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at);
  return (offset) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
}

function describeError(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'A tab indents here, where YAML takes only spaces.';
  if (code === 'MULTIPLE_DOCS') return 'A second document begins here; the file is one.';
  return `This is no YAML: ${message}.`;
}

class TooDeep extends Error {
  readonly line: number;

  constructor(line: number) {
    super(`the line ${line} is too deep`);
    this.line = line;
  }
}

/** The first document, with an error if there is another one. */
function compose(text: string): Document.Parsed {
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  let first: Document.Parsed | undefined;
  for (const document of composer.compose(tokensOf(text), true, text.length)) {
    if (first !== undefined) {
      const [begin, end] = document.range;
      first.errors.push(new YAMLParseError([begin, end], 'MULTIPLE_DOCS', 'a second document'));
      break;
    }
    first = document;
  }
  if (first === undefined) throw new Error('the library composes a document of any text');
  return first;
}

/** The tokens of a text. A document is one token, which is complete after all of its lexemes were looked at. */
function* tokensOf(text: string): Generator<CST.Token, void> {
  const parser = new Parser();
  const depth = new Depth();
  for (const lexeme of new Lexer().lex(text)) {
    depth.add(lexeme);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

/**
 * Checks the depth by what the library's lexer finds, which does not recurse. The composer recurses, and deep input would
 * end the process. Flow style is measured by brackets, block style by the indicators of a line and its indentation.
 */
class Depth {
  #flow = 0;
  #line = 1;
  #inLine = 0;

  add(lexeme: string): void {
    if (lexeme === '[' || lexeme === '{') this.#flow += 1;
    else if (lexeme === ']' || lexeme === '}') this.#flow = Math.max(0, this.#flow - 1);
    else if (this.#flow === 0 && (lexeme === '-' || lexeme === '?' || lexeme === ':'))
      this.#inLine += 1;
    const indented = this.#inLine === 0 && lexeme.length >= 160 && /^ {160,}$/.test(lexeme);
    if (this.#flow > MAX_YAML_DEPTH || this.#inLine > MAX_YAML_DEPTH || indented)
      throw new TooDeep(this.#line);
    for (let at = lexeme.indexOf('\n'); at >= 0; at = lexeme.indexOf('\n', at + 1)) {
      this.#line += 1;
      this.#inLine = 0;
    }
  }
}
