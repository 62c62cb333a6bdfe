/** RFC 5103: the enterprise number of fields that describe the reverse direction of a flow. */
export const REVERSE_ENTERPRISE = 29_305;
/** Added to the number of a reverse field. Numbers that exporters send from here on are skipped. */
export const REVERSE = 0x4000;

/**
 * The counters of a flow's packets and bytes in IANA's list of IPFIX Information Elements. Several of them say the same,
 * so of each kind one is read, whichever a template has first in this order: what arrived before what was sent on,
 * bytes of IP before frames of layer 2, counts since the last record before running totals.
 *
 * Not counted: dropped, ignored and unsent packets, which are a part of those that arrived; counts of packets with a TCP
 * flag; and counts of interfaces and of the exporter itself, which describe no flow.
 */
const PACKETS: readonly number[] = [
  // packetDelta, initiatorPackets, layer2FrameDelta, packetTotal, layer2FrameTotal
  2, 298, 430, 86, 431,
  // postPacketDelta, postPacketTotal, transportPacketDelta, postMCastPacketDelta, postMCastPacketTotal
  24,
  172, 402, 19, 174,
];
const BYTES: readonly number[] = [
  // octetDelta, initiatorOctets, octetTotal, layer2OctetDelta (also 416), layer2OctetTotal (also 419)
  1,
  231, 85, 352, 416, 353, 419,
  // postOctetDelta, postOctetTotal, postLayer2OctetDelta, postLayer2OctetTotal, transportOctetDelta
  23, 171, 417, 420, 401,
  // postMCastOctetDelta, postMCastOctetTotal, postMCastLayer2OctetDelta, postMCastLayer2OctetTotal
  20, 175, 418, 421,
];
/** The chosen counters are read as the usual ones. */
const PACKETS_READ = 2;
const BYTES_READ = 1;
/** Counts since the flow began, which each record repeats. */
const TOTALS: ReadonlySet<number> = new Set([86, 431, 172, 174, 85, 353, 419, 171, 420, 175, 421]);
/** Both directions of a session in one record: what the initiator sent, and what the responder sent. */
const INITIATOR = { packets: 298, bytes: 231 } as const;
const RESPONDER = { packets: 299, bytes: 232 } as const;

const REVERSED: readonly number[] = [...PACKETS, ...BYTES].map((field) => field + REVERSE);
const COUNTERS: ReadonlySet<number> = new Set([
  ...PACKETS,
  ...BYTES,
  ...Object.values(RESPONDER),
  ...REVERSED,
]);

export function isCounter(field: number): boolean {
  return COUNTERS.has(field);
}

/** Bits of the counters of a template that are running totals. */
export const TOTAL = { packets: 1, bytes: 2, reversePackets: 4, reverseBytes: 8 } as const;

export interface ChosenCounters {
  /** The field that each chosen counter is read as: 1, 2, or these in reverse. */
  readonly roles: ReadonlyMap<number, number>;
  /** Bits of `TOTAL`. */
  readonly totals: number;
}

/** Chooses among the counters of a template, so that no packet counts twice. */
export function chooseCounters(present: ReadonlySet<number>): ChosenCounters {
  const isSession =
    (present.has(INITIATOR.packets) && present.has(RESPONDER.packets)) ||
    (present.has(INITIATOR.bytes) && present.has(RESPONDER.bytes));
  // A counter of both directions may stand beside those of each.
  const ordered = (kind: 'packets' | 'bytes', others: readonly number[]): readonly number[] =>
    isSession ? [INITIATOR[kind], ...others] : others;
  const reverse = (kind: 'packets' | 'bytes', forward: readonly number[]): number[] => {
    const own = forward.map((field) => field + REVERSE);
    return isSession ? [RESPONDER[kind], ...own] : [...own, RESPONDER[kind]];
  };
  const choices = [
    [PACKETS_READ, TOTAL.packets, ordered('packets', PACKETS)],
    [BYTES_READ, TOTAL.bytes, ordered('bytes', BYTES)],
    [PACKETS_READ + REVERSE, TOTAL.reversePackets, reverse('packets', PACKETS)],
    [BYTES_READ + REVERSE, TOTAL.reverseBytes, reverse('bytes', BYTES)],
  ] as const;
  const roles = new Map<number, number>();
  let totals = 0;
  for (const [role, bit, candidates] of choices) {
    const chosen = candidates.find((field) => present.has(field));
    if (chosen === undefined) continue;
    roles.set(chosen, role);
    if (TOTALS.has(chosen) || TOTALS.has(chosen - REVERSE)) totals |= bit;
  }
  return { roles, totals };
}
