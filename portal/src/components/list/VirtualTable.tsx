import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type CSSProperties, useMemo, useRef, useState } from 'react';
import {
  cardPart,
  type Column,
  firstSort,
  nextSort,
  type RowMarks,
  type Sort,
  sortRows,
} from './columns.ts';

interface Props<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly minWidth: number;
  keyOf(row: Row): string | number;
  marksOf?(row: Row): RowMarks;
}

const ROW_PX = 40;

/** A table that renders only the rows in view, so that ten thousand cost as much as thirty. */
export function VirtualTable<Row>(props: Props<Row>) {
  const { label, columns, minWidth, keyOf, marksOf } = props;
  const [sort, setSort] = useState(() => firstSort(columns));
  const rows = useMemo(() => sortRows(props.rows, columns, sort), [props.rows, columns, sort]);
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
            <Heading
              key={column.title}
              column={column}
              sort={sort}
              onSort={() => sort !== null && setSort(nextSort(columns, sort, column.title))}
            />
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
                ref={virtual.measureElement}
                data-index={index}
                role="row"
                className="grid-row"
                aria-rowindex={index + 2}
                data-highlight={marks?.highlight === true ? '' : undefined}
                data-going={marks?.going === true ? '' : undefined}
                style={{ transform: `translateY(${start}px)` }}
              >
                {columns.map((column, at) => (
                  <div
                    key={column.title}
                    role="cell"
                    data-card={cardPart(columns, at)}
                    data-title={column.title}
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

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort | null;
  onSort(): void;
}

function Heading<Row>({ column, sort, onSort }: HeadingProps<Row>) {
  const { title, head, isTitleHidden, isNumber, sortBy } = column;
  const className = isNumber === true ? 'num' : undefined;
  if (sortBy === undefined || sort === null) {
    return (
      <div role="columnheader" className={className}>
        {head ?? (isTitleHidden === true ? <span className="hidden">{title}</span> : title)}
      </div>
    );
  }
  const isSorted = sort.by === title;
  const Arrow = sort.isDescending ? ArrowDown : ArrowUp;
  const order = sort.isDescending ? 'descending' : 'ascending';
  return (
    <div role="columnheader" className={className} aria-sort={isSorted ? order : 'none'}>
      <button type="button" onClick={onSort}>
        {title}
        {isSorted && <Arrow size={13} aria-hidden="true" />}
      </button>
    </div>
  );
}
