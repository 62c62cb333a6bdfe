import { failed, type Parsed, parsed } from './parsed.ts';

/** Ports from `low` to `high`, both included. */
export interface PortRange {
  readonly low: number;
  readonly high: number;
}

/** Every port written out would be 400 KB, which no caller needs. */
const MAX_TEXT = 65_536;

/**
 *     expression = item *( "," item )
 *     item       = *SP ( port / port "-" port ) *SP      spaces around items only
 *     port       = 1-65535, no leading zeros             low must not exceed high
 *
 * Sorted and merged, so overlaps count once; never expanded, so `1-65535` costs nothing.
 */
export function parsePortExpression(text: string): Parsed<readonly PortRange[]> {
  if (text.length > MAX_TEXT) return failed(`a port expression has at most ${MAX_TEXT} characters`);
  const ranges: PortRange[] = [];
  for (const item of text.split(',')) {
    const range = parseItem(item);
    if (!range.ok) return range;
    ranges.push(range.value);
  }
  return parsed(mergeRanges(ranges));
}

/** The number of ports in ranges of `parsePortExpression`, without expanding them. */
export function countPorts(ranges: readonly PortRange[]): number {
  return ranges.reduce((sum, { low, high }) => sum + high - low + 1, 0);
}

/** The ports in ascending order. The caller checks the count first. */
export function expandPorts(ranges: readonly PortRange[]): number[] {
  const ports: number[] = [];
  for (const { low, high } of ranges)
    for (let port = low; port <= high; port += 1) ports.push(port);
  return ports;
}

function parseItem(item: string): Parsed<PortRange> {
  const match = /^ *([0-9]{1,6})(?:-([0-9]{1,6}))? *$/.exec(item);
  if (match === null) {
    return failed(
      `"${shownItem(item)}" is neither a port nor a range: write 80, 7000-7010 or 80,443`,
    );
  }
  const low = parsePort(match[1] as string);
  const high = match[2] === undefined ? low : parsePort(match[2]);
  if (low === null || high === null) {
    return failed(
      `"${shownItem(item).trim()}": ports are numbers from 1 to 65535 without leading zeros`,
    );
  }
  if (low > high) return failed(`"${shownItem(item).trim()}": the range ends before it begins`);
  return parsed({ low, high });
}

function shownItem(item: string): string {
  return item.slice(0, 24).replace(/[^\x20-\x7e]/g, '?');
}

function parsePort(digits: string): number | null {
  if (digits.startsWith('0')) return null;
  const port = Number(digits);
  return port <= 65_535 ? port : null;
}

function mergeRanges(ranges: readonly PortRange[]): PortRange[] {
  const sorted = ranges.toSorted((a, b) => a.low - b.low);
  const merged: { low: number; high: number }[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && range.low <= last.high + 1)
      last.high = Math.max(last.high, range.high);
    else merged.push({ ...range });
  }
  return merged;
}

/** The shortest items of an expression of these ports: `80`, `7000-7010`. Takes them in ascending order. */
export function portItems(ports: readonly number[]): string[] {
  const items: string[] = [];
  for (let at = 0; at < ports.length; ) {
    let end = at;
    while (ports[end + 1] === (ports[end] ?? 0) + 1) end += 1;
    items.push(end === at ? `${ports[at]}` : `${ports[at]}-${ports[end]}`);
    at = end + 1;
  }
  return items;
}

export function portExpression(ports: readonly number[]): string {
  return portItems(ports.toSorted((a, b) => a - b)).join(',');
}

/** The number of items that a sentence spells out. */
const LISTED = 20;

/** `port 80`, `ports 80, 443, 7000-7010 and 3 more`. Takes ports in ascending order. */
export function portList(ports: readonly number[]): string {
  const runs = portItems(ports);
  const more = runs.length > LISTED ? ` and ${runs.length - LISTED} more` : '';
  return `${ports.length === 1 ? 'port' : 'ports'} ${runs.slice(0, LISTED).join(', ')}${more}`;
}
