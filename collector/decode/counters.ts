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

type Choices = readonly (readonly [role: number, bit: number, candidates: readonly number[]])[];

/** In a session the counters of both directions stand first: another may be their sum. */
function choicesOf(isSession: boolean): Choices {
  const forward = (initiator: number, all: readonly number[]): readonly number[] =>
    isSession ? [initiator, ...all] : all;
  const reverse = (responder: number, all: readonly number[]): readonly number[] => {
    const own = all.map((field) => field + REVERSE);
    return isSession ? [responder, ...own] : [...own, responder];
  };
  return [
    [PACKETS_READ, TOTAL.packets, forward(INITIATOR.packets, PACKETS)],
    [BYTES_READ, TOTAL.bytes, forward(INITIATOR.bytes, BYTES)],
    [PACKETS_READ + REVERSE, TOTAL.reversePackets, reverse(RESPONDER.packets, PACKETS)],
    [BYTES_READ + REVERSE, TOTAL.reverseBytes, reverse(RESPONDER.bytes, BYTES)],
  ];
}

const CHOICES = { session: choicesOf(true), flow: choicesOf(false) } as const;

/** Chooses among the counters of a template, so that no packet counts twice. */
export function chooseCounters(fields: readonly number[]): ChosenCounters {
  const present = fields.filter(isCounter);
  const has = (field: number): boolean => present.includes(field);
  const isSession =
    (has(INITIATOR.packets) && has(RESPONDER.packets)) ||
    (has(INITIATOR.bytes) && has(RESPONDER.bytes));
  const roles = new Map<number, number>();
  let totals = 0;
  for (const [role, bit, candidates] of isSession ? CHOICES.session : CHOICES.flow) {
    const chosen = candidates.find(has);
    if (chosen === undefined) continue;
    roles.set(chosen, role);
    if (TOTALS.has(chosen) || TOTALS.has(chosen - REVERSE)) totals |= bit;
  }
  return { roles, totals };
}
