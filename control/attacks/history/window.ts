import { Problem } from '../../problem.ts';
import type { Snapshot } from './snapshot.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** As long as the links of a page are followed, entitlement does not creep forward under them. */
const LINKS_LIVE_MS = DAY_MS;

export interface AttackWindow {
  readonly from: Date;
  readonly to: Date;
  readonly fromClamped: boolean;
}

/** How far back a caller may look. */
export interface Entitlement {
  /** Since when he has what he has had longest; null: he has nothing. */
  readonly heldSince: Date | null;
  readonly historyDays: number;
}

interface Asked {
  readonly from?: string;
  readonly to?: string;
}

/**
 * Pure: the window that a request is about, on whole seconds where the caller named no others, since links carry it.
 * `snapshot` is that of the page before, whose window the request repeats. Throws 422.
 */
export function attackWindow(
  query: Asked,
  entitlement: Entitlement,
  snapshot: Snapshot | null,
  now: Date,
): AttackWindow {
  const to = query.to === undefined ? ceilSecond(now.getTime()) : momentOf('to', query.to);
  const from = query.from === undefined ? to - DAY_MS : momentOf('from', query.from);
  if (to < from) throw invalid('to', 'must not be earlier than from');
  const floor = floorOf(entitlement, now);
  const wasClamped = snapshot?.fromClamped ?? false;
  if (from >= (snapshot === null ? floor : floor - LINKS_LIVE_MS)) {
    return { from: new Date(from), to: new Date(to), fromClamped: wasClamped };
  }
  return { from: new Date(floor), to: new Date(Math.max(floor, to)), fromClamped: true };
}

function floorOf({ heldSince, historyDays }: Entitlement, now: Date): number {
  const kept = now.getTime() - historyDays * DAY_MS;
  return ceilSecond(Math.max(kept, heldSince?.getTime() ?? kept));
}

/** The schema has seen to its form, which takes seconds and days that do not exist. */
function momentOf(parameter: 'from' | 'to', text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalid(parameter, 'must be a valid date-time');
  return ms;
}

function ceilSecond(ms: number): number {
  return Math.ceil(ms / SECOND_MS) * SECOND_MS;
}

export function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid_request', `The parameter ${parameter} ${detail}.`, {
    errors: [{ parameter, detail }],
  });
}
