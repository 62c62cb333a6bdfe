/** The rows that are chosen, the one that keys act on, and the one that a range begins at. */
export interface Selection {
  readonly chosen: ReadonlySet<string>;
  readonly active: string | null;
  readonly anchor: string | null;
}

export const NOTHING: Selection = { chosen: new Set(), active: null, anchor: null };

interface Held {
  readonly shift: boolean;
  /** Control, or Command on a Mac. */
  readonly control: boolean;
}

/** A click on a row: alone, it chooses the row; with Shift all up to it; with Control the row besides the others. */
export function pick(
  order: readonly string[],
  before: Selection,
  row: string,
  { shift, control }: Held,
): Selection {
  if (shift) return rangeTo(order, before, row, control);
  if (control) return toggle(before, row);
  return { chosen: new Set([row]), active: row, anchor: row };
}

export function toggle({ chosen }: Selection, row: string): Selection {
  const next = new Set(chosen);
  if (!next.delete(row)) next.add(row);
  return { chosen: next, active: row, anchor: row };
}

/** Up or down by keys: with Shift the range grows, with Control only the active row moves. */
export function step(
  order: readonly string[],
  before: Selection,
  to: number | 'first' | 'last',
  { shift, control }: Held,
): Selection {
  const at = before.active === null ? -1 : order.indexOf(before.active);
  const wanted = indexAfter(at, to, order.length);
  const row = order[wanted];
  if (row === undefined) return before;
  if (shift) return rangeTo(order, before, row, control);
  if (control) return { ...before, active: row };
  return { chosen: new Set([row]), active: row, anchor: row };
}

function indexAfter(at: number, to: number | 'first' | 'last', count: number): number {
  if (to === 'first' || (at === -1 && to !== 'last')) return 0;
  if (to === 'last') return count - 1;
  return Math.max(0, Math.min(count - 1, at + to));
}

export function all(order: readonly string[], before: Selection): Selection {
  return { ...before, chosen: new Set(order), active: before.active ?? order[0] ?? null };
}

/** The selection without the rows that are gone, so that nothing happens to what is not shown. */
export function present(order: readonly string[], before: Selection): Selection {
  const there = new Set(order);
  const keep = (row: string | null) => (row !== null && there.has(row) ? row : null);
  const chosen = [...before.chosen].filter((row) => there.has(row));
  const isSame =
    chosen.length === before.chosen.size &&
    keep(before.active) === before.active &&
    keep(before.anchor) === before.anchor;
  if (isSame) return before;
  return { chosen: new Set(chosen), active: keep(before.active), anchor: keep(before.anchor) };
}

function rangeTo(
  order: readonly string[],
  before: Selection,
  row: string,
  isMore: boolean,
): Selection {
  const anchor = before.anchor ?? before.active ?? row;
  const [from, to] = [order.indexOf(anchor), order.indexOf(row)].toSorted((a, b) => a - b);
  const range = order.slice(Math.max(0, from ?? 0), (to ?? 0) + 1);
  return { chosen: new Set(isMore ? [...before.chosen, ...range] : range), active: row, anchor };
}
