/** A line with its line end: `\n`, `\r\n`, or none at the end of the file. */
export interface Line {
  readonly text: string;
  readonly end: string;
}

export function linesOf(text: string): Line[] {
  const found = [...text.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g)];
  return found
    .map((match) => ({ text: match[1] ?? '', end: match[2] ?? '' }))
    .filter(({ text, end }) => text !== '' || end !== '');
}

export function textOf(lines: readonly Line[]): string {
  return lines.map(({ text, end }) => text + end).join('');
}

/** The line end of a file, for added lines. */
export function lineEndOf(lines: readonly Line[]): string {
  return lines[0]?.end || '\n';
}

/** Inserts lines at an index; a last line without a line end gets one. */
export function insertLines(lines: Line[], at: number, texts: readonly string[]): void {
  const end = lineEndOf(lines);
  const before = lines[at - 1];
  if (before !== undefined && before.end === '') lines[at - 1] = { text: before.text, end };
  lines.splice(at, 0, ...texts.map((text) => ({ text, end })));
}

/** Whether the text ends with an odd number of backslashes, which continues it in the next line. */
export function isContinued(text: string): boolean {
  let count = 0;
  while (text[text.length - 1 - count] === '\\') count += 1;
  return count % 2 === 1;
}
