/**
 * Where a text stops being JSON, by the error of `JSON.parse`: `: unexpected content in line 3, column 14`, or `: it ends
 * too early`. Empty if the error does not say. It quotes nothing of the text.
 */
export function describePlace(text: string, error: unknown): string {
  if (!(error instanceof SyntaxError)) return '';
  if (/Unexpected end/.test(error.message)) return ': it ends too early';
  const [, position] = /at position (\d+)/.exec(error.message) ?? [];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return `: unexpected content in line ${before.length}, column ${column}`;
}
