import type { Attack, Measured } from '@portcullis/core/attacks/attack.ts';
import { SHORT_MS } from '@portcullis/core/attacks/detector/window.ts';
import {
  continueAs,
  handOver,
  ongoingOf,
  type Resumable,
  toResumable,
} from '@portcullis/core/attacks/detector/resume.ts';
import type { Seen, Snapshot, StoredAttack } from './plan.ts';
import { resumableOfStored } from './stored-state.ts';

/** The state to store, with which a detector continues the attack. Null after its end. */
export function resumableIn({ attack, snapshot }: Seen): Resumable | null {
  const ongoing = snapshot && ongoingOf(snapshot.state, attack.subject);
  return ongoing && toResumable(ongoing);
}

/** The part of an attack since a change of the holder. */
export interface Split {
  readonly seen: Seen;
  /** The evidence before the split. */
  readonly before: object;
}

/** Splits an attack that began before `sinceMs`. Returns null if it began later, or has ended. */
export function splitAt(seen: Seen, sinceMs: number): Split | null {
  const { attack, snapshot } = seen;
  if (snapshot === null || attack.startedAtMs >= sinceMs) return null;
  const { state: whole, thresholds, atMs } = snapshot;
  const startedAtMs = splitMs(snapshot.evidenceFromMs, sinceMs);
  const state = handOver(whole, attack.subject, thresholds, startedAtMs, atMs);
  return {
    seen: afterChange({ ...seen, openedAtMs: atMs }, { ...snapshot, state, evidenceFromMs: atMs }),
    before: snapshot.evidenceUntil(sinceMs),
  };
}

/** The start of the part: an attack that was continued may have gone on only in the time of the new holder. */
function splitMs(evidenceFromMs: number | null, sinceMs: number): number {
  return Math.round(Math.max(sinceMs, (evidenceFromMs ?? -Infinity) - SHORT_MS));
}

const UNKNOWN: Measured = { value: 0, low: 0, high: 0 };

/** The end of a part, of an attack that was not split by then: nothing is known of its peaks. */
export function endOfPart(seen: Seen, startedAtMs: number): Seen {
  const attack = { ...seen.attack, startedAtMs, peakPps: UNKNOWN, peakBps: UNKNOWN };
  return { ...seen, attack };
}

/** The attack as one with a recorded attack that it continues. Null if it has ended. */
export function joinTo(seen: Seen, stored: StoredAttack): Seen | null {
  const { attack, snapshot } = seen;
  if (snapshot === null) return null;
  const { thresholds } = snapshot;
  const known = resumableOfStored(stored, attack.subject, thresholds);
  const isJoined = attack.startedAtMs === known.attack.startedAtMs;
  const state = isJoined ? snapshot.state : continueAs(snapshot.state, known, thresholds);
  return afterChange({ ...seen, openedAtMs: stored.openedAt.getTime() }, { ...snapshot, state });
}

function afterChange(seen: Seen, snapshot: Snapshot): Seen {
  const attack: Attack =
    ongoingOf(snapshot.state, seen.attack.subject)?.phase.attack ?? seen.attack;
  return { ...seen, attack, snapshot };
}
