import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { Resumable } from '@portcullis/core/attacks/resume.ts';

/** What a detector says of a subject. Said again, it changes nothing. */
export interface Seen {
  readonly attack: Attack;
  /** When the detector knew of it first. */
  readonly openedAtMs: number;
  /** Null once it has ended. */
  readonly resumable: Resumable | null;
  /** It is worth telling whoever acts on attacks. */
  readonly isNews: boolean;
}

/** An attack that goes on, or may. */
export interface Known {
  readonly subject: string;
  readonly attackId: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  /** Since when somebody else has the subject than the one whose record it is; null: nobody else has. */
  readonly otherSince: Date | null;
  /** Another recorder has seen it within the last seconds. */
  readonly seenByOthers: boolean;
}

export type RecordStep = 'open' | 'touch' | 'reopen' | 'end' | 'leave' | 'nothing';

/** Beginning again within this time, it is the same attack. */
export const MERGE_MS = 300_000;

/** Pure: what becomes of the record. One that others still see is theirs to end. */
export function planRecord({ attack }: Seen, known: Known | null): RecordStep {
  if (attack.endedAtMs !== null) {
    if (known === null || known.endedAt !== null) return 'nothing';
    return known.seenByOthers ? 'leave' : 'end';
  }
  if (known === null) return 'open';
  if (known.endedAt === null) return 'touch';
  if (known.otherSince !== null) return 'open';
  return attack.startedAtMs - known.endedAt.getTime() <= MERGE_MS ? 'reopen' : 'open';
}

/**
 * What goes on against a new holder is an attack of his, which began when it went on: as a part of the record of the one
 * before, nobody would see it.
 */
export function inHolderTime(seen: Seen, known: Known | null): Seen {
  if (known === null || known.otherSince === null) return seen;
  const { attack } = seen;
  const leastMs = Math.max(known.otherSince.getTime(), known.endedAt?.getTime() ?? 0);
  return { ...seen, attack: { ...attack, startedAtMs: Math.max(attack.startedAtMs, leastMs) } };
}
