import { Fragment, type ReactNode } from 'react';
import { cardPart, type Column, type RowMarks } from './columns.ts';

export interface PlainTableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Lets the keyboard scroll it sideways: for a table without a control in its rows. */
  readonly scrollLabel?: string | undefined;
  keyOf(row: Row): string | number;
  marksOf?: ((row: Row) => RowMarks) | undefined;
  /** Shown across the table below a row; null: nothing. */
  detailOf?: ((row: Row) => ReactNode) | undefined;
}

/** A table of few rows, whose heights differ. */
export function PlainTable<Row>(props: PlainTableProps<Row>) {
  const { columns, rows, scrollLabel, keyOf, marksOf, detailOf } = props;
  const scrolls =
    scrollLabel !== undefined &&
    ({ tabIndex: 0, role: 'region', 'aria-label': scrollLabel } as const);
  return (
    <div className="scroll-x" {...scrolls}>
      <table className="plain-table">
        <thead>
          <tr>
            {columns.map(({ title, isTitleHidden }) => (
              <th key={title} scope="col">
                {isTitleHidden === true ? <span className="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const detail = detailOf?.(row) ?? null;
            return (
              <Fragment key={keyOf(row)}>
                <tr data-dim={marksOf?.(row).dim === true ? '' : undefined}>
                  {columns.map(({ title, className, isNumber, cell }, at) => (
                    <td
                      key={title}
                      className={isNumber === true ? 'num' : className}
                      data-card={cardPart(columns, at)}
                      data-title={title}
                    >
                      {cell(row)}
                    </td>
                  ))}
                </tr>
                {detail !== null && (
                  <tr>
                    <td colSpan={columns.length}>{detail}</td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
