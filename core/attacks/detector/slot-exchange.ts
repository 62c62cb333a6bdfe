/** A subject and its traffic in multiples of its threshold. */
export interface SubjectStrength {
  readonly subject: string;
  readonly strength: number;
}

/**
 * A slot is taken over only by a subject with this multiple of the traffic, so that two equal subjects do not
 * alternate.
 */
const TAKEOVER_RATIO = 2;

/**
 * Decides which waiting subjects take over whose slots: the strongest from the weakest. To keep all slots with forged
 * addresses, a sender must send half of a real attack's traffic to each of them.
 */
export function planExchanges(
  waiting: readonly SubjectStrength[],
  held: readonly SubjectStrength[],
): { readonly added: string; readonly removed: string }[] {
  const strongest = waiting.toSorted((a, b) => b.strength - a.strength);
  const weakest = held.toSorted((a, b) => a.strength - b.strength);
  const exchanges: { added: string; removed: string }[] = [];
  for (const [index, { subject: added, strength }] of strongest.entries()) {
    const last = weakest[index];
    if (last === undefined || strength <= last.strength * TAKEOVER_RATIO) break;
    exchanges.push({ added, removed: last.subject });
  }
  return exchanges;
}
