import { styleText } from 'node:util';

/** Below this a column is not readable. */
const NARROWEST = 8;

type Style = Parameters<typeof styleText>[0];

/** Styles text if the stream is a terminal and NO_COLOR is not set, as `styleText` decides. */
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

/** Removes control characters: a console line holds text of players, which must not control the operator's terminal. */
export function printable(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to remove
  return line.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\uFFFD');
}

/** Prints one JSON document in the shape of the API, the only output of a command on stdout. */
export function printJson(
  data: unknown,
  more: { readonly made?: object; readonly meta?: object; readonly message?: string } = {},
): void {
  process.stdout.write(`${JSON.stringify({ data, ...more }, null, 2)}\n`);
}

/** `2026-11-27 01:02:03`, in the time zone of the terminal; JSON keeps UTC. */
export function localTime(moment: string | null): string {
  return moment === null ? '' : new Date(moment).toLocaleString('sv-SE');
}

/** Prints what a write answered; with --quiet nothing. */
export function report(
  { data, message }: { readonly data: object; readonly message: string },
  { json, quiet }: { readonly json?: boolean; readonly quiet?: boolean },
): void {
  if (json === true) printJson(data, { message });
  else if (quiet !== true) print(message);
}

/** Prints to stderr, separate from output that scripts read. */
export function warn(line: string): void {
  process.stderr.write(`${styled('yellow', line, process.stderr)}\n`);
}

export async function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const { default: Table } = await import('cli-table3');
  const parts = [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ];
  const chars = { ...Object.fromEntries(parts.map((part) => [part, ''])), middle: '  ' };
  const width = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const table = new Table({
    head: [...head],
    chars,
    colWidths: fitWidths([head, ...rows], width),
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  for (const row of rows) table.push([...row]);
  for (const line of table.toString().split('\n')) print(line.trimEnd());
}

/** Widths of columns for a terminal of this width: the widest ones give way, and their text wraps. */
function fitWidths(lines: readonly (readonly string[])[], width: number): number[] {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => Array.from(line[column] ?? '').length)),
  );
  const gaps = (widths.length - 1) * 2;
  const sum = (): number => widths.reduce((all, one) => all + one, gaps);
  while (sum() > width) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= NARROWEST) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

export function formatAgo(moment: Date | null): string {
  if (moment === null) return 'never';
  return `${Math.max(0, Math.round((Date.now() - moment.getTime()) / 1_000))} s ago`;
}

/** The connection of an agent to control, in one or two words. */
export function formatConnection(agent: {
  readonly connected: boolean;
  readonly enrolledAt: Date | null;
  readonly lastSeenAt: Date | null;
}): string {
  if (agent.connected) return 'connected';
  if (agent.enrolledAt === null) return 'not enrolled';
  return agent.lastSeenAt === null ? 'never seen' : 'away';
}
