/** The top sources and ports of a subject, largest first. May be estimated from samples. */
export interface SubjectTops {
  readonly subject: string;
  readonly sampled?: Sampled;
  readonly sources: readonly TopSource[];
  readonly sourcePorts: readonly TopPort[];
  readonly destinationPorts: readonly TopPort[];
}
/** The sampled packets, listed or not. */
export interface Sampled {
  readonly samples: number;
  /** The packets that they stand for. */
  readonly packets: number;
}
/** Packets that a source sent by one protocol. */
export interface TopSource {
  readonly source: string;
  /** Absent: an older agent, which added up all protocols. */
  readonly protocol?: SourceProtocol;
  readonly packets: number;
  /**
   * The part in flows that the subject has answered: TCP after its handshake, UDP after some seconds both ways. Absent: not
   * known, because the observer does not see both directions.
   */
  readonly answered?: number;
}
export const SOURCE_PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'other'] as const;
export type SourceProtocol = (typeof SOURCE_PROTOCOLS)[number];

const PROTOCOLS: Readonly<Record<number, SourceProtocol>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  47: 'gre',
  58: 'icmp',
};

/** `protocol`: the number of an IP protocol. */
export function sourceProtocolOf(protocol: number): SourceProtocol {
  return PROTOCOLS[protocol] ?? 'other';
}

export interface TopPort {
  readonly port: number;
  /** Absent: an older agent, or another protocol. */
  readonly protocol?: 'tcp' | 'udp';
  readonly packets: number;
}
/** The most entries per list and subject. */
export const MAX_TOPS = 10;
