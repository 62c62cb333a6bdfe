/**
 * ECMA-48: control sequences (`ESC [ ... m`), control strings (`ESC ] ... BEL`; an unterminated one extends to the end of
 * the line) and two-character escapes, also those with 8-bit introducers; and control characters except tab, line and
 * paragraph separators, and bidirectional controls.
 */
const UNSAFE =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]P^_X]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const ANY = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

/**
 * A line of a game as text that is safe to print. A game's output is untrusted, and its escape sequences could move the
 * cursor, rename the window or send input to an operator's terminal. Colours are removed too.
 */
export function plainText(line: string): string {
  return ANY.test(line) ? line.replace(UNSAFE, '') : line;
}

/** The same with its colours: of escape sequences only those remain that set a colour or a weight of the text. */
export function colouredText(line: string): string {
  return ANY.test(line) ? line.replace(UNSAFE, colourOf) : line;
}

const SGR = /^\x1b\[([\d;]{0,64})m$/;

/** Empty for what is no colour. */
function colourOf(sequence: string): string {
  const codes = SGR.exec(sequence)?.[1]?.split(';').map(Number) ?? [];
  const kept: number[] = [];
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    const length = code === 38 || code === 48 ? extendedLength(codes[at + 1]) : 1;
    const taken = codes.slice(at, at + length);
    if (isKept(code) && taken.length === length && taken.every((each) => each <= 255)) {
      kept.push(...taken);
    }
    at += length - 1;
  }
  return kept.length === 0 ? '' : `\x1b[${kept.join(';')}m`;
}

/** The length of a colour by number (5) or by red, green and blue (2). */
function extendedLength(kind: number | undefined): number {
  return kind === 2 ? 5 : 3;
}

/** Neither blinking text, which disturbs, nor hidden text, which deceives. */
function isKept(code: number): boolean {
  if (code <= 4 || code === 7 || code === 9) return true;
  return (code >= 21 && code <= 49 && code !== 28) || (code >= 90 && code <= 107);
}
