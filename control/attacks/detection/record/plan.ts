import type { Attack, Thresholds } from '@portcullis/core/attacks/attack.ts';
import type { DetectorState } from '@portcullis/core/attacks/detector/detector.ts';
import type { AttackTops } from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';

/** The stored state with which a detector continues an attack. */
export interface StoredAttack {
  /** A CIDR with its length. */
  readonly subject: string;
  readonly type: string;
  readonly startedAt: Date;
  readonly openedAt: Date;
  readonly peakPps: number;
  readonly peakBps: number;
  readonly detector: unknown;
  readonly series: unknown;
}

/** A detector as it was when it reported an attack. Nothing in it changes. */
export interface Snapshot {
  readonly state: DetectorState;
  /** The thresholds of the attacked subject. */
  readonly thresholds: Thresholds;
  /** The wall clock. */
  readonly atMs: number;
  /** Since when the detector has evidence of the attack. Null if it has none. */
  readonly evidenceFromMs: number | null;
  /** The stored form of the evidence, of the traffic before a time. */
  readonly evidenceUntil: (ms: number) => object;
}

/** The state of a subject by a detector. Idempotent. */
export interface Seen {
  readonly attack: Attack;
  /** The time of detection. */
  readonly openedAtMs: number;
  /** The time of the last excessive traffic. */
  readonly busyAtMs: number;
  /** Null keeps the reported ones. */
  readonly tops: AttackTops | null;
  /** Exports alone claim it, and an edge that could count it does not. */
  readonly isClaimed: boolean;
  /** Null after its end. */
  readonly snapshot: Snapshot | null;
  /** Whether mitigation must be notified. */
  readonly isNews: boolean;
  /** The record of another attack has it from now on; it has none itself. */
  readonly isPart: boolean;
}

/** A record that is ongoing or may continue. */
export interface Known {
  readonly subject: string;
  readonly attackId: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  /** Since when another holder has the subject. Null if the holder is the same. */
  readonly otherSince: Date | null;
}

/**
 * A change that the recorder made because of what the database knows. The detector makes it too, and reports the same
 * attacks from then on. Idempotent.
 */
export type RecordChange =
  /** Another holder has the attack since this time, as a record of its own. */
  | { readonly kind: 'split'; readonly subject: string; readonly startedAtMs: number }
  /** The attack continues a recorded one. */
  | { readonly kind: 'joined'; readonly subject: string; readonly stored: StoredAttack };

/** The latest report of an attack by the recorder or an edge. */
export interface ReportedAttack {
  readonly attackId: number;
  /** `ended`: quiet for its hold time. Otherwise it is ongoing. */
  readonly kind: 'opened' | 'changed' | 'ended' | 'continued';
  readonly attack: Pick<Attack, 'type' | 'shares' | 'present' | 'subject' | 'startedAtMs'>;
  /** Null keeps the previous ones, except those from before a pause. */
  readonly tops: AttackTops | null;
  /** Exports alone claim it. Once this is false it stays so, because a blackhole keeps packets from the edge. */
  readonly isClaimed?: boolean;
}

/** Where a detector reports to. */
export interface AttackSink {
  note(seen: Seen): void;
  noteEvidence(subject: string, evidence: object): void;
}

export type RecordStep =
  | 'open'
  | 'hand-over'
  | 'touch'
  | 'reopen'
  | 'end'
  /** It is part of another record. */
  | 'absorb'
  /** It could not be written while ongoing, so it is recorded with its end. */
  | 'whole'
  | 'nothing';

/** An attack that starts again within this time is the same one. */
export const MERGE_MS = 300_000;

/**
 * Plans the change of a record. What continues after a change of the holder belongs to the new holder; what was quiet by
 * then does not.
 */
export function planRecord({ attack, busyAtMs, isPart }: Seen, known: Known | null): RecordStep {
  if (isPart) return known === null || known.endedAt !== null ? 'nothing' : 'absorb';
  if (attack.endedAtMs !== null) {
    if (known === null) return 'whole';
    if (known.endedAt !== null) {
      return attack.startedAtMs - known.endedAt.getTime() > MERGE_MS ? 'whole' : 'nothing';
    }
    return 'end';
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

/** The start of the new holder's record: the start of its holding, not before the end of the previous one. */
export function otherFromMs({ otherSince, endedAt }: Known): number | null {
  if (otherSince === null) return null;
  return Math.max(otherSince.getTime(), endedAt?.getTime() ?? 0);
}

/** A record never starts before its holding, or nobody would see it. */
export function inHolderTime(seen: Seen, known: Known): Seen {
  const { attack } = seen;
  const leastMs = otherFromMs(known) ?? 0;
  return { ...seen, attack: { ...attack, startedAtMs: Math.max(attack.startedAtMs, leastMs) } };
}
