export type LineEnding = '\n' | '\r\n';

/** The line ending of most lines, which a file keeps when it is saved: some games read only their own. */
export function lineEndingOf(text: string): LineEnding {
  const all = text.split('\n').length - 1;
  const windows = text.split('\r\n').length - 1;
  return windows * 2 > all ? '\r\n' : '\n';
}

/** The text with one kind of line ending, as an editor has it. */
export function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

export function withLineEnding(text: string, ending: LineEnding): string {
  return ending === '\n' ? text : text.replaceAll('\n', '\r\n');
}
