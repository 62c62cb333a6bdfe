import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import type { Db } from '../../db/database.ts';
import { inSnapshot } from '../../fleet/policies/policies.ts';
import type { Call } from '../../http/operations/operation.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import { timeView } from '../../http/operations/view.ts';
import { dropWindow } from '../drops/read.ts';
import { type DropWindow, loadHeldSince } from '../drops/store.ts';
import type { AddressState } from '../objects.ts';
import { loadAddress } from '../store.ts';
import { loadEdges, loadPassed, MAX_ROWS, type PassedRow } from './store.ts';

interface Traffic {
  readonly state: AddressState;
  readonly window: DropWindow;
  readonly rows: readonly PassedRow[];
  readonly edges: readonly string[];
}

/** What passed to an address in the last day, as edges sampled it. Throws 404. */
export function readTraffic(db: Db, call: Call): Promise<Traffic> {
  return inSnapshot(db, async (tx) => {
    const state = await loadAddress(tx, 'accepted', call.caller, call.ip);
    const since = state && (await loadHeldSince(tx, state.holdingId));
    if (state === null || since === null) throw notHeld();
    const window = dropWindow({}, since, new Date());
    const of = { holdingId: state.holdingId, ip: call.ip, window };
    return { state, window, rows: await loadPassed(tx, of), edges: await loadEdges(tx, of) };
  });
}

export function trafficView(ip: string, { window, rows, edges }: Traffic) {
  const ports = Map.groupBy(rows, ({ protocol, port }) => `${protocol} ${port}`);
  const data = [...ports.values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const lastAt = new Date(Math.max(...all.map((row) => row.lastAt.getTime())));
    return [
      {
        protocol: first.protocol,
        port: first.port,
        samples: all.reduce((sum, { packets }) => sum + packets, 0),
        sources: new Set(all.map(({ source }) => source)).size,
        last_seen_at: timeView(lastAt),
      },
    ];
  });
  return {
    data: { ip, ports: data.toSorted((a, b) => b.samples - a.samples) },
    meta: {
      from: timeView(window.from),
      to: timeView(window.to),
      sampled_one_in: SAMPLED_ONE_IN,
      edges,
      is_complete: rows.length < MAX_ROWS,
    },
  };
}
