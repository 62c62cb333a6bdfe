import type { CancelledAttack } from '@portcullis/link/messages/attacks.ts';

export interface CancelledFacts {
  readonly durationMs: number;
  readonly isControlThere: boolean;
  /** Attacks by subject, as this edge sees them. */
  readonly ongoing: Pick<ReadonlyMap<string, unknown>, 'has'>;
}

/** After this time without traffic the next attack counts as a new one, as control would count it. */
const MERGE_MS = 300_000;

/** The attacks whose mitigation an operator cancelled, each until it is over. */
export class CancelledAttacks {
  /** How long each was not seen while control was away. */
  #quietMs = new Map<string, number>();

  /** Takes the next bucket and returns the subjects that must not be mitigated. */
  step(cancelled: readonly CancelledAttack[], facts: CancelledFacts): ReadonlySet<string> {
    const quietMs = new Map<string, number>();
    const subjects = new Set<string>();
    for (const attack of cancelled) {
      const { subject, startedAtMs } = attack;
      const key = `${subject}@${startedAtMs}`;
      const after = quietAfter(this.#quietMs.get(key) ?? 0, subject, facts);
      quietMs.set(key, after);
      if (after < MERGE_MS) subjects.add(subject);
    }
    this.#quietMs = quietMs;
    return subjects;
  }
}

function quietAfter(
  beforeMs: number,
  subject: string,
  { durationMs, isControlThere, ongoing }: CancelledFacts,
): number {
  // While control answers, it removes attacks that are over from its list.
  if (isControlThere) return 0;
  if (beforeMs >= MERGE_MS) return beforeMs;
  return ongoing.has(subject) ? 0 : beforeMs + durationMs;
}
