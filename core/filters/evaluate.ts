import type { Opening, Signature } from './filter.ts';
import type { FilterProgram, TcpProgram, UdpProgram } from './program.ts';
import type { FilterReason } from './reasons.ts';

/** Facts that the kernel knows of a packet to a filtered port. */
export interface FilterState {
  readonly payload: Uint8Array;
  /** UDP: a reply of the server has validated the source. */
  readonly validated: boolean;
  /** TCP: it belongs to an established connection. */
  readonly established: boolean;
  /** TCP: the connection began with an opening. */
  readonly opened: boolean;
  /** The limits that the packet exceeds. */
  readonly above: readonly FilterReason[];
}

/** Evaluates the filters of a port. Returns the reason of a drop, or null if the packet passes. */
export function evaluateFilters(
  program: FilterProgram,
  sees: 'both' | 'inbound',
  sourcePort: number | null,
  state: FilterState,
): FilterReason | null {
  const outside = evaluatePackets(program, sourcePort, state.payload);
  if (outside !== null) return outside;
  // Replies take another route, so no source is ever validated: one rate applies to all.
  if (sees === 'inbound') return firstOf(state.above, ['validated-rate']);
  return program.transport === 'udp' ? evaluateUdp(program, state) : evaluateTcp(program, state);
}

/** The limits that apply to every source. */
function evaluatePackets(
  { transport, packets }: FilterProgram,
  sourcePort: number | null,
  { length }: Uint8Array,
): FilterReason | null {
  const { lengths, sourcePorts } = packets;
  if (transport === 'udp' && lengths !== null && (length < lengths.min || length > lengths.max)) {
    return 'packet-length';
  }
  if (sourcePorts === null || sourcePort === null) return null;
  const isAllowed = sourcePorts.some(({ low, high }) => low <= sourcePort && sourcePort <= high);
  return isAllowed ? null : 'source-port';
}

function evaluateUdp(
  { greetings, replies, data, roaming, budgetPps }: UdpProgram,
  { payload, validated, above }: FilterState,
): FilterReason | null {
  const isGreeting = greetings.length === 0 || greetings.some((one) => fits(one, payload));
  if (validated && replies !== null) {
    const limited = firstOf(above, ['validated-rate']);
    if (limited !== null) return limited;
    const isData =
      data.length > 0
        ? data.some((one) => fits(one, payload))
        : greetings.length === 0 || !isGreeting;
    if (isData) return null;
    if (!isGreeting) return 'no-data';
    // A greeting has the limits of an unvalidated source.
  }
  const roams = roaming?.kinds.some(({ packets }) => packets.some((one) => fits(one, payload)));
  if (!isGreeting && roams !== true) return 'no-greeting';
  // Both have limits of their own.
  if ((isGreeting ? budgetPps : roaming?.rates.budgetPps) === 0) return 'budget';
  return firstOf(above, ['unvalidated-rate', 'budget']);
}

function evaluateTcp(
  { openings, synProxy }: TcpProgram,
  { payload, established, opened, above }: FilterState,
): FilterReason | null {
  if (!established) return synProxy ? 'syn-proxy-invalid' : null;
  const limited = firstOf(above, ['validated-rate']);
  if (limited !== null) return limited;
  if (openings.length === 0 || opened || payload.length === 0) return null;
  return openings.some((one) => begins(one, payload)) ? null : 'no-opening';
}

function firstOf(
  above: readonly FilterReason[],
  order: readonly FilterReason[],
): FilterReason | null {
  return order.find((reason) => above.includes(reason)) ?? null;
}

/** Whether a payload has the length and the bytes of a signature. */
export function fits({ bytes, minLength, maxLength }: Signature, payload: Uint8Array): boolean {
  if (payload.length < minLength || payload.length > maxLength) return false;
  return begins({ bytes }, payload);
}

function begins({ bytes }: Opening, payload: Uint8Array): boolean {
  return bytes.every(({ offset, hex, mask }) => {
    const wanted = Buffer.from(hex, 'hex');
    const bits = mask === undefined ? null : Buffer.from(mask, 'hex');
    return wanted.every((byte, index) => {
      const there = payload[offset + index];
      return there !== undefined && (there & (bits?.[index] ?? 0xff)) === byte;
    });
  });
}
