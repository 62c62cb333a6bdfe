/** A subject, and how much it gets: in its threshold, by packets or bits. */
export interface Claim {
  readonly subject: string;
  readonly strength: number;
}

/** A place goes to whoever gets so many times as much: two that are alike do not take turns. */
const TIMES = 2;

/**
 * Pure: who of those that wait takes whose place. The strongest first, of the weakest: places are bounded, and whoever
 * fills them with addresses made up must send to each half of what a real attack does, all the time.
 */
export function exchangesOf(
  waiting: readonly Claim[],
  held: readonly Claim[],
): { readonly taken: string; readonly gone: string }[] {
  const strongest = waiting.toSorted((a, b) => b.strength - a.strength);
  const weakest = held.toSorted((a, b) => a.strength - b.strength);
  const exchanges: { taken: string; gone: string }[] = [];
  for (const [index, { subject: taken, strength }] of strongest.entries()) {
    const last = weakest[index];
    if (last === undefined || strength <= last.strength * TIMES) break;
    exchanges.push({ taken, gone: last.subject });
  }
  return exchanges;
}
