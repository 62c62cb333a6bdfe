import type { EdgeAttacks, WireAttack } from '@portcullis/link/messages/attacks.ts';

/** Why a delayed report is refused. */
export type DelayedRefusal = 'not_held' | 'not_served' | 'too_old' | 'future';

export interface DelayedRules {
  readonly isHeld: (subject: string) => boolean;
  readonly isServed: (subject: string) => boolean;
  /** The longest history of any organisation. */
  readonly keptMs: number;
}

export interface CheckedDelayed {
  /** In control's time. */
  readonly taken: readonly WireAttack[];
  readonly refused: readonly { readonly attack: WireAttack; readonly why: DelayedRefusal }[];
}

/** A smaller offset of the edge's clock is ignored, because messages take as long. */
const CLOCK_ERROR_MS = 2_000;

/**
 * Accepts delayed reports on subjects that the edge serves, within the longest history. Times are corrected by the
 * offset of the edge's clock, as far as the message shows it.
 */
export function checkDelayed(
  { atMs, attacks }: Pick<EdgeAttacks, 'atMs' | 'attacks'>,
  nowMs: number,
  terms: DelayedRules,
): CheckedDelayed {
  const offMs = Math.abs(nowMs - atMs) > CLOCK_ERROR_MS ? nowMs - atMs : 0;
  const oldestMs = nowMs - terms.keptMs;
  const taken: WireAttack[] = [];
  const refused: { attack: WireAttack; why: DelayedRefusal }[] = [];
  for (const attack of attacks) {
    const why = refusalOf(attack, offMs, nowMs, oldestMs, terms);
    if (why === null) taken.push(dated(attack, offMs, nowMs, oldestMs));
    else refused.push({ attack, why });
  }
  return { taken, refused };
}

function refusalOf(
  { subject, startedAtMs, openedAtMs, endedAtMs, mitigatedAtMs }: WireAttack,
  offMs: number,
  nowMs: number,
  oldestMs: number,
  { isHeld, isServed }: DelayedRules,
): DelayedRefusal | null {
  // Without a holding nobody could see it.
  if (!isHeld(subject)) return 'not_held';
  if (!isServed(subject)) return 'not_served';
  const latestMs = Math.max(startedAtMs, openedAtMs, endedAtMs ?? 0, mitigatedAtMs ?? 0) + offMs;
  if (latestMs > nowMs + CLOCK_ERROR_MS) return 'future';
  return endedAtMs !== null && endedAtMs + offMs < oldestMs ? 'too_old' : null;
}

function dated(attack: WireAttack, offMs: number, nowMs: number, oldestMs: number): WireAttack {
  const within = (ms: number): number => Math.min(nowMs, Math.max(oldestMs, ms + offMs));
  const startedAtMs = within(attack.startedAtMs);
  const later = (ms: number): number => Math.max(startedAtMs, within(ms));
  return {
    ...attack,
    startedAtMs,
    openedAtMs: later(attack.openedAtMs),
    endedAtMs: attack.endedAtMs === null ? null : later(attack.endedAtMs),
    mitigatedAtMs: attack.mitigatedAtMs === null ? null : later(attack.mitigatedAtMs),
    actions: attack.actions.map((one) => ({
      ...one,
      sinceMs: later(one.sinceMs),
      untilMs: one.untilMs === null ? null : later(one.untilMs),
    })),
    series: { ...attack.series, startMs: within(attack.series.startMs) },
  };
}
