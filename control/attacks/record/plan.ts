import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { Resumable } from '@portcullis/core/attacks/resume.ts';
import type { Kept } from './store.ts';

/** What a detector says of a subject. Said again, it changes nothing. */
export interface Seen {
  readonly attack: Attack;
  /** When the detector knew of it first. */
  readonly openedAtMs: number;
  /** When the last of it came that was too much. */
  readonly busyAtMs: number;
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

/** A part of an attack that its detector told apart, because its subject was handed over. */
export interface HandedOver {
  readonly seen: Seen;
  /** Evidence of what was before; null: it had been told apart already. */
  readonly before: object | null;
}

/** An attack goes on as another one, of what came since. */
type HandOver = (subject: string, sinceMs: number) => HandedOver | null;

/** Of whoever sees attacks go on; null: here nobody sees that one. */
export interface Detecting {
  readonly handOver: HandOver;
  /** What began was a recorded attack, which goes on: it is of both. */
  readonly goOn: (kept: Kept) => Seen | null;
}

export type RecordStep =
  | 'open'
  | 'hand-over'
  | 'touch'
  | 'reopen'
  | 'end'
  | 'leave'
  /** Nothing could be written while it went on: it is recorded with its end. */
  | 'whole'
  | 'nothing';

/** Beginning again within this time, it is the same attack. */
export const MERGE_MS = 300_000;

/**
 * Pure: what becomes of the record. One that others still see is theirs to end. What goes on after the subject was
 * handed over is another's: his who has it now; what was quiet by then is not.
 */
export function planRecord({ attack, busyAtMs }: Seen, known: Known | null): RecordStep {
  if (attack.endedAtMs !== null) {
    if (known === null) return 'whole';
    if (known.endedAt !== null) {
      return attack.startedAtMs - known.endedAt.getTime() > MERGE_MS ? 'whole' : 'nothing';
    }
    return known.seenByOthers ? 'leave' : 'end';
  }
  if (known === null) return 'open';
  if (known.endedAt === null) {
    return known.otherSince !== null && busyAtMs > known.otherSince.getTime()
      ? 'hand-over'
      : 'touch';
  }
  if (known.otherSince !== null) return 'open';
  return attack.startedAtMs - known.endedAt.getTime() <= MERGE_MS ? 'reopen' : 'open';
}

/** From when on what goes on is the new holder's: since the subject is his, and not before the one before him was over. */
export function otherFromMs({ otherSince, endedAt }: Known): number | null {
  if (otherSince === null) return null;
  return Math.max(otherSince.getTime(), endedAt?.getTime() ?? 0);
}

/** No attack of a holder began before he had its subject: nobody would see it. */
export function inHolderTime(seen: Seen, known: Known): Seen {
  const { attack } = seen;
  const leastMs = otherFromMs(known) ?? 0;
  return { ...seen, attack: { ...attack, startedAtMs: Math.max(attack.startedAtMs, leastMs) } };
}
