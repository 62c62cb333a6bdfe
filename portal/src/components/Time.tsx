import { Tooltip } from '@mantine/core';
import { formatAgo, formatMoment } from '../format.ts';

/** A moment in the viewer's zone, as how long ago it was; the exact one on hover and focus. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  return (
    <Tooltip label={formatMoment(date)}>
      <time dateTime={at}>{formatAgo(date, new Date())}</time>
    </Tooltip>
  );
}
