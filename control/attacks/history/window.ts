import { Problem } from '../../problem.ts';
import type { Clamp, Snapshot } from './snapshot.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');
/** As long as the links of a page are followed, entitlement does not creep forward under them. */
const LINKS_LIVE_MS = DAY_MS;

export interface AskedWindow {
  readonly from: Date;
  readonly to: Date;
}
export interface AttackWindow extends AskedWindow {
  readonly clamp: Clamp;
  /** Nothing can be in it. */
  readonly isEmpty: boolean;
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
 * Throws 422.
 */
export function askedWindow(query: Asked, now: Date): AskedWindow {
  const to = query.to === undefined ? ceilSecond(now.getTime()) : momentOf('to', query.to);
  const from = query.from === undefined ? to - DAY_MS : momentOf('from', query.from);
  if (to < from) throw invalid('to', 'must not be earlier than from');
  return { from: new Date(from), to: new Date(to) };
}

/**
 * Pure: of it what the caller may see. `snapshot` is that of the page before, whose very window the request repeats.
 */
export function attackWindow(
  { from, to }: AskedWindow,
  entitlement: Entitlement,
  snapshot: Snapshot | null,
  now: Date,
): AttackWindow {
  const floor = floorOf(entitlement, now);
  const earliest = snapshot === null ? floor : floor - LINKS_LIVE_MS;
  if (from.getTime() >= earliest) {
    const clamp = snapshot?.clamp ?? 'none';
    // An attack that goes on has lasted until now; what is to come is not known.
    const isToCome = from.getTime() > ceilSecond(now.getTime());
    return { from, to, clamp, isEmpty: clamp === 'all' || isToCome };
  }
  if (to.getTime() >= floor) {
    return { from: new Date(floor), to, clamp: 'from', isEmpty: false };
  }
  // Raised whole: a window cannot end before it begins.
  return { from: new Date(floor), to: new Date(floor), clamp: 'all', isEmpty: true };
}

function floorOf({ heldSince, historyDays }: Entitlement, now: Date): number {
  const kept = now.getTime() - historyDays * DAY_MS;
  return ceilSecond(Math.max(kept, heldSince?.getTime() ?? kept));
}

/** The schema has seen to its form, which takes seconds and days that do not exist. */
function momentOf(parameter: 'from' | 'to', text: string): number {
  const ms = Date.parse(text);
  // By its offset it may be of a year that has no four digits, which no date-time can say.
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) throw invalid(parameter, 'must be a valid date-time');
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
