import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colour only on a terminal, and never against NO_COLOR: `styleText` asks the stream. */
export function styled(
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return styleText(style, text, { stream });
}

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** A game writes what its players write, and that must not steer the terminal of whoever reads it. */
export function shown(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return line.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\uFFFD');
}

/** One document, so that a script can read the whole of stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** To stderr, so that it never mixes with what a script reads. */
export function warn(line: string): void {
  process.stderr.write(`${styled('yellow', line, process.stderr)}\n`);
}

export async function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const { default: Table } = await import('cli-table3');
  const bare = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '' };
  const chars = {
    ...bare,
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  };
  const table = new Table({
    head: [...head],
    chars,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  for (const row of rows) table.push([...row]);
  for (const line of table.toString().split('\n')) print(line.trimEnd());
}

export function agoOf(moment: Date | null): string {
  if (moment === null) return 'never';
  return `${Math.max(0, Math.round((Date.now() - moment.getTime()) / 1_000))} s ago`;
}
