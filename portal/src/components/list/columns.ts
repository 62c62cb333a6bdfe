import type { ReactNode } from 'react';

/** A column of a table, plain or virtual. */
export interface Column<Row> {
  /** Unique in its table. */
  readonly title: string;
  /** The part that stands at the top instead of the title. */
  readonly head?: ReactNode;
  /** The title is only read out: it stands over buttons. */
  readonly isTitleHidden?: boolean;
  /** A track of the grid of a virtual table: `120px`, `minmax(0, 2fr)`. */
  readonly width?: string;
  /** The class of the cells of a plain table. */
  readonly className?: string;
  readonly isNumber?: boolean;
  /** Where the cell stands when a narrow screen shows each row as a card (see `cardPart`). */
  readonly card?: CardPart;
  /** How a table is sorted at first that is sorted by this column. */
  readonly sortsFirst?: 'ascending' | 'descending';
  cell(row: Row): ReactNode;
  /** The value that a click on the title sorts by; absent: it cannot be sorted by. */
  sortBy?(row: Row): number | string;
}

/** The first line of the card, its right end, a line below with the title of the column, or the last line. */
export type CardPart = 'head' | 'end' | 'below' | 'foot';

export function cardPart<Row>(columns: readonly Column<Row>[], index: number): CardPart {
  const column = columns[index];
  if (column?.card !== undefined) return column.card;
  if (index === 0) return 'head';
  return column?.isTitleHidden === true ? 'end' : 'below';
}

/** How a row is marked. */
export interface RowMarks {
  readonly highlight?: boolean;
  readonly going?: boolean;
  readonly dim?: boolean;
}

export interface Sort {
  /** The title of a column. */
  readonly by: string;
  readonly isDescending: boolean;
}

/** Null where no column is sorted by at first: the rows stay in their order. */
export function firstSort<Row>(columns: readonly Column<Row>[]): Sort | null {
  const first = columns.find(({ sortsFirst }) => sortsFirst !== undefined);
  if (first === undefined) return null;
  return { by: first.title, isDescending: first.sortsFirst === 'descending' };
}

/** After a click on a title: the other way round, or by another column, largest first. */
export function nextSort<Row>(columns: readonly Column<Row>[], sort: Sort, by: string): Sort {
  if (sort.by === by) return { by, isDescending: !sort.isDescending };
  const first = firstSort(columns);
  return first?.by === by ? first : { by, isDescending: true };
}

/** Rows of equal value stay in their order. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const value = columns.find(({ title }) => title === sort?.by)?.sortBy;
  if (sort === null || value === undefined) return rows;
  const sign = sort.isDescending ? -1 : 1;
  return rows.toSorted((a, b) => sign * compare(value(a), value(b)));
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === 'string' || typeof b === 'string') return String(a).localeCompare(String(b));
  return a < b ? -1 : Number(a > b);
}

/** Rows whose fields contain each word that was typed. */
export function searchRows<Row>(
  rows: readonly Row[],
  typed: string,
  fieldsOf: (row: Row) => readonly string[],
): readonly Row[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = fieldsOf(row).join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
