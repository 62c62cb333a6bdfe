/**
 * The vectors by which traffic to a destination is counted. Every packet has exactly one vector, so that shares add up;
 * flow records, kernel counters and samples use the same table. Facts: docs/detection.md.
 */

/** UDP services that answer small forged requests with large responses, by their source port. */
export const REFLECTORS = {
  chargen: 19,
  dns: 53,
  portmap: 111,
  ntp: 123,
  netbios: 137,
  snmp: 161,
  cldap: 389,
  rip: 520,
  mssql: 1434,
  ssdp: 1900,
  wsd: 3702,
  coap: 5683,
  memcached: 11_211,
  arms: 3283,
  plex: 32_414,
} as const satisfies Readonly<Record<string, number>>;

export type Reflector = keyof typeof REFLECTORS;
export type ReflectorVector = `udp_${Reflector}`;

const REFLECTOR_NAMES = Object.keys(REFLECTORS) as Reflector[];
/** Agents send indices of vectors, so later reflectors have theirs behind all others. */
const LATER_REFLECTORS: readonly Reflector[] = ['arms', 'plex'];

/**
 * `tcp_ack`: small packets of an established connection; `tcp_data`: large ones, as in downloads. `tcp_other`: invalid
 * flags. `fragment`: later fragments; `fragment_first`: first fragments from no reflector. `udp_dns` and so on: from a
 * reflector's port.
 */
export const VECTORS = [
  'tcp_syn',
  'tcp_syn_ack',
  'tcp_ack',
  'tcp_data',
  'tcp_rst',
  'tcp_other',
  'udp',
  ...REFLECTOR_NAMES.filter((name) => !LATER_REFLECTORS.includes(name)).map(vectorName),
  'icmp',
  'gre',
  'fragment',
  'fragment_first',
  'other',
  ...LATER_REFLECTORS.map(vectorName),
] as const;

function vectorName(name: Reflector): ReflectorVector {
  return `udp_${name}`;
}

export type Vector = (typeof VECTORS)[number];

export const VECTOR_COUNT = VECTORS.length;

/** The index of each vector in `VECTORS`. */
export const VECTOR_INDEX = Object.fromEntries(
  VECTORS.map((name, index) => [name, index]),
) as Readonly<Record<Vector, number>>;

/** Packets without payload are smaller, even with options and the largest link header; data packets are larger. */
export const DATA_BYTES = 256;

/** 0: a whole datagram, 1: a first fragment, 2: a later fragment (without ports). */
export type FragmentPart = 0 | 1 | 2;

const { tcp_syn, tcp_syn_ack, tcp_ack, tcp_data, tcp_rst, tcp_other } = VECTOR_INDEX;
const { udp, icmp, gre, fragment, fragment_first, other } = VECTOR_INDEX;

const BY_SOURCE_PORT = reflectorTable();

/**
 * The index in `VECTORS` of a packet or a flow record. `tcpFlags` of a record is the union over its packets;
 * `meanBytes` is the length of an IP packet.
 */
export function vectorOf(
  protocol: number,
  sourcePort: number,
  tcpFlags: number,
  part: FragmentPart,
  meanBytes: number,
): number {
  if (part === 2) return fragment;
  if (protocol === 6) return part === 1 ? fragment_first : tcpVector(tcpFlags, meanBytes);
  if (protocol === 17) {
    const reflected = BY_SOURCE_PORT[sourcePort] ?? udp;
    return part === 1 && reflected === udp ? fragment_first : reflected;
  }
  if (part === 1) return fragment_first;
  if (protocol === 1 || protocol === 58) return icmp;
  return protocol === 47 ? gre : other;
}

const FIN = 1;
const SYN = 2;
const RST = 4;
const PSH = 8;
const ACK = 16;
const EVALUATED_FLAGS = FIN | SYN | RST | PSH | ACK;

function tcpVector(tcpFlags: number, meanBytes: number): number {
  const flags = tcpFlags & EVALUATED_FLAGS;
  if (flags === SYN) return tcp_syn;
  if (flags === (SYN | ACK)) return tcp_syn_ack;
  if ((flags & RST) !== 0 && (flags & (SYN | PSH)) === 0) return tcp_rst;
  if ((flags & ACK) === 0) return tcp_other;
  return meanBytes > DATA_BYTES ? tcp_data : tcp_ack;
}

function reflectorTable(): Uint8Array {
  const table = new Uint8Array(65_536).fill(udp);
  for (const name of REFLECTOR_NAMES) table[REFLECTORS[name]] = VECTOR_INDEX[`udp_${name}`];
  return table;
}
