import { Problem } from '../../problem.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { Db } from '../../db/database.ts';
import { inSnapshot } from '../../fleet/policies/policies.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressState } from '../objects.ts';
import { loadAddress } from '../store.ts';
import { timeView, viewOf } from '../../http/operations/view.ts';
import { type Drops, type DropWindow, loadDrops, loadHeldSince } from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Pure: which minutes a request is about. Not before what is kept, nor before the address was the caller's; the
 * minute in which it became so counts, for its counts are of the time after. Throws 422.
 */
export function dropWindow(
  query: { readonly from?: string; readonly to?: string },
  heldSince: Date,
  now: Date,
): DropWindow {
  const to = query.to === undefined ? now.getTime() : momentOf('to', query.to);
  const from = query.from === undefined ? to - DAY_MS : momentOf('from', query.from);
  if (to < from) throw invalid('to', 'must not be earlier than from');
  const earliest = Math.max(now.getTime() - DAY_MS, heldSince.getTime());
  const begin = floorMinute(Math.max(from, earliest));
  return {
    from: new Date(begin),
    // The minute that runs is part of "until now".
    to: new Date(Math.max(begin, ceilMinute(Math.min(to, now.getTime())))),
    fromClamped: floorMinute(from) < begin,
  };
}

/** The schema has seen to its form, which takes seconds and days that do not exist. */
function momentOf(parameter: 'from' | 'to', text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalid(parameter, 'must be a valid date-time');
  return ms;
}

function floorMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

function ceilMinute(ms: number): number {
  return Math.ceil(ms / MINUTE_MS) * MINUTE_MS;
}

function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid_request', `The parameter ${parameter} ${detail}.`, {
    errors: [{ parameter, detail }],
  });
}

interface DropsRead {
  readonly state: AddressState;
  readonly window: DropWindow;
  readonly drops: Drops;
}

/** Reads the drops of the caller's address since it holds it. Throws 404 and 422. */
export async function readDrops(db: Db, call: CallOf<'readDrops'>): Promise<DropsRead> {
  return inSnapshot(db, async (tx) => {
    const state = await loadAddress(tx, 'live', call.by, call.params.ip);
    const since = state && (await loadHeldSince(tx, state.holdingId));
    if (state === null || since === null) throw notHeld();
    const { edge = null } = call.query;
    const window = dropWindow(call.query, since, new Date());
    const { ip } = call.params;
    const bounds = call.by.prefixes;
    return {
      state,
      window,
      drops: await loadDrops(tx, { ...window, holdingId: state.holdingId, ip, edge, bounds }),
    };
  });
}

export function dropsView(ip: string, { window, drops }: DropsRead) {
  const { observed, filters, totals, prefixes, series, samples, edges } = drops;
  return {
    data: {
      ip,
      observed,
      filters,
      totals,
      prefixes,
      series: series.map(viewOf),
      // PostgreSQL ends some IPv6 addresses in dotted decimals.
      samples: samples.map(({ source, ...sample }) => ({
        ...viewOf(sample),
        source_ip: canonicalAddress(source) ?? source,
      })),
    },
    meta: {
      from: timeView(window.from),
      to: timeView(window.to),
      from_clamped: window.fromClamped,
      packets: totals.reduce((sum, one) => sum + one.packets, 0),
      bytes: totals.reduce((sum, one) => sum + one.bytes, 0),
      edges,
    },
  };
}
