import { Problem } from '../../problem.ts';
import type { Clamp, Snapshot } from './snapshot.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');
/** While a caller follows links, the entitlement of the first page applies. */
const LINKS_LIVE_MS = DAY_MS;

export interface RequestedWindow {
  readonly from: Date;
  readonly to: Date;
}
export interface AttackWindow extends RequestedWindow {
  readonly clamp: Clamp;
  /** The window is empty. */
  readonly isEmpty: boolean;
}

/** How far back a caller may look. */
export interface Entitlement {
  /** The start of the caller's earliest present holding. Null without holdings. */
  readonly heldSince: Date | null;
  readonly historyDays: number;
}

interface Asked {
  readonly from?: string;
  readonly to?: string;
}

/** The requested window, in whole seconds unless the caller named fractions, because links repeat it. Throws 422. */
export function requestedWindow(query: Asked, now: Date): RequestedWindow {
  const to = query.to === undefined ? ceilSecond(now.getTime()) : momentOf('to', query.to);
  const from = query.from === undefined ? to - DAY_MS : momentOf('from', query.from);
  if (to < from && query.to === undefined) throw invalid('from', 'must not be later than now');
  if (to < from) throw invalid('to', 'must not be earlier than from');
  return { from: new Date(from), to: new Date(to) };
}

/** Clamps the window to the entitlement. `snapshot` is that of the previous page, whose window the request repeats. */
export function attackWindow(
  { from, to }: RequestedWindow,
  entitlement: Entitlement,
  snapshot: Snapshot | null,
  now: Date,
): AttackWindow {
  const floor = floorOf(entitlement, now);
  const earliest = snapshot === null ? floor : floor - LINKS_LIVE_MS;
  if (from.getTime() >= earliest) {
    const clamp = snapshot?.clamp ?? 'none';
    // An ongoing attack lasts until now.
    const isToCome = from.getTime() > ceilSecond(now.getTime());
    return { from, to, clamp, isEmpty: clamp === 'all' || isToCome };
  }
  if (to.getTime() >= floor) {
    return { from: new Date(floor), to, clamp: 'from', isEmpty: false };
  }
  // Both ends are moved, because a window cannot end before it starts.
  return { from: new Date(floor), to: new Date(floor), clamp: 'all', isEmpty: true };
}

function floorOf({ heldSince, historyDays }: Entitlement, now: Date): number {
  const kept = now.getTime() - historyDays * DAY_MS;
  return ceilSecond(Math.max(kept, heldSince?.getTime() ?? kept));
}

/** The schema checks the form only, which allows seconds and days that do not exist. */
function momentOf(parameter: 'from' | 'to', text: string): number {
  const ms = Date.parse(text);
  // With its offset the year may not have four digits, which a date-time cannot express.
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
