import { formatDuration } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

/** A step in the course of an attack, in order. */
export interface Step {
  readonly id: 'began' | 'detected' | 'mitigated' | 'cancelled' | 'ended';
  readonly title: string;
  readonly text: string;
  /** Null: it has not happened. */
  readonly at: string | null;
}

export function stepsOf({
  attack,
  evidence,
  mitigations,
  cancelled_at: cancelled,
}: AttackView): Step[] {
  const isOngoing = attack.status === 'ongoing';
  const isOff = mitigations.every(({ mode }) => mode !== 'enforce');
  const after = (ms: number | null | undefined, what: string): string =>
    ms === null || ms === undefined ? what : `${formatDuration(ms / 1000)} ${what}`;
  const steps: Step[] = [
    { id: 'began', title: text.began, text: text.beganText, at: attack.started_at },
  ];
  if (evidence !== null) {
    const { detected_at: at, detected_after_ms: ms } = evidence;
    steps.push({ id: 'detected', title: text.detected, text: after(ms, text.afterBegin), at });
  }
  if (attack.mitigated_at !== null) {
    const hint = after(evidence?.mitigated_after_ms, text.afterDetected);
    steps.push({ id: 'mitigated', title: text.mitigated, text: hint, at: attack.mitigated_at });
  } else {
    const why = isOff && !isOngoing ? 'off' : attack.status === 'ongoing' ? 'ongoing' : 'ended';
    const hint = text.notMitigatedText[why];
    steps.push({ id: 'mitigated', title: text.notMitigated, text: hint, at: null });
  }
  if (cancelled !== null) {
    steps.push({ id: 'cancelled', title: text.cancelled, text: text.cancelledText, at: cancelled });
  }
  steps.push({
    id: 'ended',
    title: isOngoing ? text.goesOn : text.ended,
    text: isOngoing ? text.goesOnText : text.endedText,
    at: attack.ended_at,
  });
  return steps;
}
