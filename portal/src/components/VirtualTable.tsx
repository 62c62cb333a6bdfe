import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type CSSProperties, type ReactNode, useRef } from 'react';

export interface Column<Row, Sort extends string> {
  readonly id: string;
  readonly title: ReactNode;
  /** What a click on the title sorts by; absent: it cannot be sorted by. */
  readonly sort?: Sort;
  /** A track of the grid: `120px`, `minmax(0, 2fr)`. */
  readonly width: string;
  readonly isNumber?: boolean;
  cell(row: Row): ReactNode;
}

export interface SortState<Sort extends string> {
  readonly by: Sort;
  readonly isDescending: boolean;
}

interface Props<Row, Sort extends string> {
  readonly label: string;
  readonly columns: readonly Column<Row, Sort>[];
  readonly rows: readonly Row[];
  readonly minWidth: number;
  readonly sort?: SortState<Sort>;
  keyOf(row: Row): string | number;
  onSort?(by: Sort): void;
  marksOf?(row: Row): { readonly highlight?: boolean; readonly going?: boolean };
}

const ROW_PX = 40;

/** A table that renders only the rows in view, so that ten thousand cost as much as thirty. */
export function VirtualTable<Row, Sort extends string>(props: Props<Row, Sort>) {
  const { label, columns, rows, minWidth, sort, keyOf, onSort, marksOf } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const style = {
    '--columns': columns.map(({ width }) => width).join(' '),
    '--width': `${minWidth}px`,
  } as CSSProperties;
  return (
    <div ref={scroller} className="grid-scroll" tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1} style={style}>
        <div role="row" className="grid-head" aria-rowindex={1}>
          {columns.map((column) => (
            <Heading key={column.id} column={column} sort={sort} onSort={onSort} />
          ))}
        </div>
        <div className="grid-body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const marks = marksOf?.(row);
            return (
              <div
                key={keyOf(row)}
                role="row"
                className="grid-row"
                aria-rowindex={index + 2}
                data-highlight={marks?.highlight === true ? '' : undefined}
                data-going={marks?.going === true ? '' : undefined}
                style={{ transform: `translateY(${start}px)` }}
              >
                {columns.map((column) => (
                  <div
                    key={column.id}
                    role="cell"
                    className={column.isNumber === true ? 'num' : undefined}
                  >
                    {column.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface HeadingProps<Row, Sort extends string> {
  readonly column: Column<Row, Sort>;
  readonly sort: SortState<Sort> | undefined;
  readonly onSort: ((by: Sort) => void) | undefined;
}

function Heading<Row, Sort extends string>({ column, sort, onSort }: HeadingProps<Row, Sort>) {
  const { sort: by, title } = column;
  const className = column.isNumber === true ? 'num' : undefined;
  if (by === undefined || onSort === undefined) {
    return (
      <div role="columnheader" className={className}>
        {title}
      </div>
    );
  }
  const isSorted = sort?.by === by;
  const Arrow = sort?.isDescending === true ? ArrowDown : ArrowUp;
  const order = sort?.isDescending === true ? 'descending' : 'ascending';
  return (
    <div role="columnheader" className={className} aria-sort={isSorted ? order : 'none'}>
      <button type="button" onClick={() => onSort(by)}>
        {title}
        {isSorted && <Arrow size={13} aria-hidden="true" />}
      </button>
    </div>
  );
}
