import { formatCount } from '../format.ts';

/** A count and its noun. */
export const many = (count: number, one: string, more: string): string =>
  `${formatCount(count)} ${count === 1 ? one : more}`;
