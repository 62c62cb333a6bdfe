/** Flags of TCP, RFC 9293 section 3.1. */
export const FLAGS = { fin: 0x01, syn: 0x02, rst: 0x04, psh: 0x08, ack: 0x10, urg: 0x20 } as const;
const { fin: FIN, syn: SYN, rst: RST, psh: PSH, ack: ACK, urg: URG } = FLAGS;
export const SYN_ACK = SYN | ACK;
/** Kinds of segments: they open, answer, carry data, acknowledge and end. */
export const SEGMENTS: readonly number[] = [
  SYN,
  SYN_ACK,
  ACK,
  PSH | ACK,
  FIN | ACK,
  RST,
  RST | ACK,
];
/** All combinations, ECE and CWR too: also those that nobody means well, such as none, or FIN, PSH and URG. */
export const ANY_FLAGS = 0xff;

/** It asks for a connection, and does nothing else. */
export function opens(flags: number): boolean {
  return (flags & (FIN | SYN | RST | ACK)) === SYN;
}

/** Connection tracking takes it for a part of a connection that it knows, from the side that opened that. */
export function goesOn(flags: number): boolean {
  const meant = flags & (FIN | SYN | RST | ACK | URG);
  return [ACK, ACK | URG, FIN | ACK, FIN | ACK | URG, RST, RST | ACK].includes(meant);
}
