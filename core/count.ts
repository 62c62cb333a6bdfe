/** A count and its noun for a sentence: `1 rule`, `2 rules`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
