import type { CancelledAttack } from '@portcullis/link/messages/attacks.ts';

export interface CancelledFacts {
  readonly durationMs: number;
  readonly isControlThere: boolean;
  /** By subject, as this edge sees them. */
  readonly ongoing: Pick<ReadonlyMap<string, unknown>, 'has'>;
}

/** Quiet for so long, what comes then is another attack: control, which is not there to say so, would say the same. */
const MERGE_MS = 300_000;

/** Attacks that an operator wants nothing done against: each for as long as it is this attack. */
export class CancelledAttacks {
  /** For how long each has not been seen while control was away. */
  #quietMs = new Map<string, number>();

  /** A bucket further. Answers the subjects that nothing is to be done for. */
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
  // Control that is there no longer names it once it is over.
  if (isControlThere) return 0;
  if (beforeMs >= MERGE_MS) return beforeMs;
  return ongoing.has(subject) ? 0 : beforeMs + durationMs;
}
