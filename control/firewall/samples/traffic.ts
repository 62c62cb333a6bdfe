import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import type { Db } from '../../db/database.ts';
import { inSnapshot } from '../../fleet/policies/policies.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { timeView } from '../../http/operations/view.ts';
import { loadSamples, type Samples } from './store.ts';

/** Traffic that passed to an address in the last day, as edges sampled it. Throws 404. */
export function readTraffic(db: Db, call: AddressCall): Promise<Samples> {
  return inSnapshot(db, (tx) => loadSamples(tx, call));
}

export function trafficView(ip: string, { window, rows, edges, isComplete }: Samples) {
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
      is_complete: isComplete,
    },
  };
}
