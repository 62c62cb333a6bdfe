import { Tooltip } from '@mantine/core';
import { formatAgo, formatMoment } from '../format.ts';
import type { Column } from './list/columns.ts';

/** A moment in the viewer's zone, as how long ago it was; the exact one on hover and focus. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  return (
    <Tooltip label={formatMoment(date)}>
      <time dateTime={at}>{formatAgo(date, new Date())}</time>
    </Tooltip>
  );
}

/** A column of moments, and what it shows where there is none. */
export function timeColumn<Row>(
  title: string,
  momentOf: (row: Row) => string | null,
  none = '',
): Column<Row> {
  return {
    title,
    className: 'dim nowrap',
    cell(row) {
      const at = momentOf(row);
      return at === null ? none : <Time at={at} />;
    },
  };
}
