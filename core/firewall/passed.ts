/**
 * Packets of one source to one port that passed an edge, of which it sampled some: the first packet of each connection
 * that it tracks, and one of `SAMPLED_ONE_IN` others.
 */
export interface PassedSample {
  readonly destination: string;
  readonly source: string;
  /** IP protocol number. */
  readonly protocol: number;
  /** Null if the protocol has none. */
  readonly destinationPort: number | null;
  /** The number of sampled packets. */
  readonly packets: number;
}

export const SAMPLED_ONE_IN = 64;
