import { type Document, Lexer, LineCounter, parseDocument } from 'yaml';

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
  const deep = findTooDeep(text);
  if (deep !== null) {
    return refuse(deep, 'TOO_DEEP', `This is nested more than ${MAX_YAML_DEPTH} levels deep.`);
  }
  const lines = new LineCounter();
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  });
  if (document.errors.length === 0) return { ok: true, document, positionOf };
  const errors = document.errors.slice(0, LISTED_ERRORS).map(({ code, message, pos }) => ({
    ...positionOf(pos[0]),
    code,
    message: describeError(code, message),
  }));
  return { ok: false, errors };
}

function describeError(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'A tab indents here, where YAML takes only spaces.';
  if (code === 'MULTIPLE_DOCS') return 'A second document begins here; the file is one.';
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
    if (flow > MAX_YAML_DEPTH || inLine > MAX_YAML_DEPTH || indented) return { line, column: 1 };
    for (let at = token.indexOf('\n'); at >= 0; at = token.indexOf('\n', at + 1)) {
      line += 1;
      inLine = 0;
    }
  }
  return null;
}
