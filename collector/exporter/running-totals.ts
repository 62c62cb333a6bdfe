import { putBounded } from './put-bounded.ts';

/** The most flows of one exporter whose totals are kept. */
const MAX_FLOWS = 65_536;
/** An older record that comes later is a reordered datagram; an even older end is a wrong clock. */
const MAX_REORDERED_MS = 60_000;

/** Counters of a flow since it began, in both directions. */
export interface FlowTotals {
  packets: number;
  bytes: number;
  reversePackets: number;
  reverseBytes: number;
}

interface KeptTotals extends FlowTotals {
  readonly endMs: number;
}

/**
 * Turns running totals into counts since the last record of the flow. An exporter repeats the totals of a flow that
 * continues, and each packet must count once.
 */
export class RunningTotals {
  readonly #flows = new Map<string, KeptTotals>();

  /**
   * Replaces totals by what is new since the last record of the flow. `totals` has the bits (`TOTAL`) of the counters
   * that are totals; the others stay. `endMs`: the flow's last packet by the exporter's clock, -1 if unknown. Returns the
   * end of the last record; null if this is the first one, or the flow was counted from the start again.
   */
  subtract(flow: string, counts: FlowTotals, totals: number, endMs: number): number | null {
    const known = this.#flows.get(flow);
    const { packets, bytes, reversePackets, reverseBytes } = counts;
    if (known !== undefined && isReordered(known.endMs, endMs)) {
      counts.packets = counts.bytes = counts.reversePackets = counts.reverseBytes = 0;
      return known.endMs;
    }
    putBounded(
      this.#flows,
      flow,
      { packets, bytes, reversePackets, reverseBytes, endMs },
      MAX_FLOWS,
    );
    if (known === undefined) return null;
    const names = ['packets', 'bytes', 'reversePackets', 'reverseBytes'] as const;
    const repeated = names.filter((_, bit) => (totals & (1 << bit)) !== 0);
    if (repeated.some((name) => counts[name] < known[name])) return null;
    for (const name of repeated) counts[name] -= known[name];
    return known.endMs;
  }

  get size(): number {
    return this.#flows.size;
  }
}

function isReordered(lastMs: number, endMs: number): boolean {
  return endMs >= 0 && endMs < lastMs && lastMs - endMs <= MAX_REORDERED_MS;
}
