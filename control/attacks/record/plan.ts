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
  return attack.startedAtMs - known.endedAt.getTime() <= MERGE_MS ? 'reopen' : 'open';
}
