/** A subject and its traffic in multiples of its threshold. */
export interface Claim {
  readonly subject: string;
  readonly strength: number;
}

/**
 * A slot is taken over only by a subject with this multiple of the traffic, so that two equal subjects do not
 * alternate.
 */
const TIMES = 2;

/**
 * Decides which waiting subjects take over whose slots: the strongest from the weakest. To keep all slots with forged
 * addresses, a sender must send half of a real attack's traffic to each of them.
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
