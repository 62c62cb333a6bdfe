import { Problem } from '../../problem.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { Db } from '../../db/database.ts';
import { inSnapshot } from '../../fleet/policies/policies.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressState } from '../objects.ts';
import { loadAddress } from '../store.ts';
import { timestampView } from '../views.ts';
import { type DropCause, type Drops, loadDrops, loadHeldSince } from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export interface DropWindow {
  /** Both on whole minutes; `to` is not part of it. */
  readonly from: Date;
  readonly to: Date;
  readonly fromClamped: boolean;
}

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
    const state = await loadAddress(tx, 'live', call.caller, call.ip);
    const since = state && (await loadHeldSince(tx, state.holdingId));
    if (state === null || since === null) throw notHeld();
    const { edge = null } = call.query;
    const window = dropWindow(call.query, since, new Date());
    const { ip } = call;
    const bounds = call.caller.prefixes;
    return {
      state,
      window,
      drops: await loadDrops(tx, { ...window, holdingId: state.holdingId, ip, edge, bounds }),
    };
  });
}

export function dropsView(ip: string, { window, drops }: DropsRead) {
  const { observed, totals, prefixes, series, samples, edges } = drops;
  return {
    data: {
      ip,
      observed: countView(observed),
      totals: totals.map((one) => ({ ...causeView(one), ...countView(one) })),
      prefixes: prefixes.map((one) => ({
        prefix: one.prefix,
        ...causeView(one),
        ...countView(one),
      })),
      series: series.map((one) => ({ at: timestampView(one.at), ...countView(one) })),
      samples: samples.map((one) => ({
        at: timestampView(one.at),
        edge: one.edge,
        ...causeView(one),
        // PostgreSQL ends some IPv6 addresses in dotted decimals.
        source_ip: canonicalAddress(one.source) ?? one.source,
        source_port: one.sourcePort,
        destination_port: one.destinationPort,
        protocol: one.protocol,
        length: one.length,
        device: one.device,
      })),
    },
    meta: {
      from: timestampView(window.from),
      to: timestampView(window.to),
      from_clamped: window.fromClamped,
      packets: totals.reduce((sum, one) => sum + one.packets, 0),
      bytes: totals.reduce((sum, one) => sum + one.bytes, 0),
      edges,
    },
  };
}

function causeView({ stage, reason, by }: DropCause) {
  return { stage, reason, by };
}

function countView({ packets, bytes }: { readonly packets: number; readonly bytes: number }) {
  return { packets, bytes };
}
