/**
 * The traffic counted in a bucket by a collector or an edge's kernel. The detector processes one sample per bucket for
 * all subjects of a site.
 */

/** Packets and bytes of one vector (`VECTORS`) in a bucket. */
export interface VectorCount {
  readonly vector: number;
  readonly packets: number;
  readonly bytes: number;
}

/** The traffic of one subject in a bucket. */
export interface Traffic {
  readonly packets: number;
  readonly bytes: number;
  /** The part in `tcp_data`. */
  readonly dataPackets: number;
  readonly dataBytes: number;
  /** The small TCP packets that acknowledge the subject's own data; 0 if that is not seen. */
  readonly receiptPackets: number;
  /** The variances of `packets` and `bytes`; 0 if every packet was counted. */
  readonly packetVariance: number;
  readonly byteVariance: number;
  /** Counts by vector; may be empty for little traffic. */
  readonly vectors: readonly VectorCount[];
}

export interface SubjectSample extends Traffic {
  /** Canonical: an address, or a prefix with its length. */
  readonly subject: string;
  /** The protected prefix of an address; null for a prefix, or if there is none. */
  readonly prefix: string | null;
}

/** A bucket. Subjects without traffic are absent. */
export interface Sample {
  /** The wall clock at its end; used for timestamps, never for durations. */
  readonly atMs: number;
  /** In monotonic time. */
  readonly durationMs: number;
  readonly addresses: readonly SubjectSample[];
  /** All traffic of each prefix, the addresses above included. */
  readonly prefixes: readonly SubjectSample[];
}

/** The length of a bucket: short enough for a certain detection within 1.5 s. */
export const BUCKET_MS = 250;
