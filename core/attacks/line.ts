import type { FlowRecord } from './flow-record.ts';

/**
 * The most that the lines of one exporter can carry. Nothing says how fast they are, so this is above every router that
 * exports flows today (a port has up to 1.6 Tbit/s, which is 2.4 billion of the smallest packets a second).
 */
export const LINE = { pps: 1e10, bps: 1e13 } as const;

/** An IP packet has a header of 20 bytes. */
const MIN_PACKET_BYTES = 20;
/** Below this rate exporters count some bytes in ways of their own, such as without headers. */
const CHECKED_PPS = 1e7;
/** Shorter flows count as this long: the clocks of many exporters show seconds. */
const MIN_SECONDS = 1;

/**
 * Refuses what cannot have passed an exporter: records that together report more in a second than its lines can carry,
 * and many packets that are shorter than their headers. Both are reading errors, such as a record that was read with
 * another template, and would be attacks of billions of packets a second.
 */
export class LineLimit {
  #sinceMs = Number.NEGATIVE_INFINITY;
  #pps = 0;
  #bps = 0;

  /** Whether the record is possible. `nowMs`: when it arrived, in monotonic time. */
  admits({ packets, bytes, durationMs }: FlowRecord, nowMs: number): boolean {
    if (Math.abs(nowMs - this.#sinceMs) >= 1000) {
      this.#sinceMs = nowMs;
      this.#pps = this.#bps = 0;
    }
    // Records of flows that last for long arrive rarely, so their rates add up and not their counts.
    const seconds = Math.max(MIN_SECONDS, durationMs / 1000);
    const pps = packets / seconds;
    const bps = (bytes / seconds) * 8;
    const isPossible = this.#pps + pps <= LINE.pps && this.#bps + bps <= LINE.bps;
    // A count of bytes that was not exported is 0.
    const isTooShort = bytes > 0 && bytes < packets * MIN_PACKET_BYTES && pps > CHECKED_PPS;
    if (!isPossible || isTooShort) return false;
    this.#pps += pps;
    this.#bps += bps;
    return true;
  }
}
