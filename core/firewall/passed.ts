/**
 * Packets of one source to one port that passed an edge, of which it sampled some: those of connections that were not
 * answered yet, and one of `SAMPLED_ONE_IN` others. An edge that sees one direction samples one of `SAMPLED_ONE_IN`.
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
