/**
 * What was counted in a short time, whoever counted it: a collector of flows, an edge's kernel. The detector steps
 * from sample to sample, one for all subjects of a site.
 */

/** Packets and bytes of one vector (`VECTORS`) in a bucket. */
export interface VectorCount {
  readonly vector: number;
  readonly packets: number;
  readonly bytes: number;
}

/** What one subject got in a bucket. */
export interface Traffic {
  readonly packets: number;
  readonly bytes: number;
  /** Of them, those of `tcp_data`. */
  readonly dataPackets: number;
  readonly dataBytes: number;
  /** Of them, small TCP packets that acknowledge what the subject itself sends; 0 where that is not seen. */
  readonly receiptPackets: number;
  /** Variances of `packets` and `bytes` as estimates; 0 for what was counted packet by packet. */
  readonly packetVariance: number;
  readonly byteVariance: number;
  /** By vector; may be empty while the subject gets too little to be looked at closely. */
  readonly vectors: readonly VectorCount[];
}

export interface SubjectSample extends Traffic {
  /** Canonical: an address, or a prefix with its length. */
  readonly subject: string;
  /** The prefix around an address that is a subject too; null for a prefix, and where there is none. */
  readonly prefix: string | null;
}

/** A bucket. Subjects that got nothing are left out. */
export interface Sample {
  /** The wall clock at its end; used to date what is seen, never to measure time. */
  readonly atMs: number;
  /** By a clock that does not jump. */
  readonly durationMs: number;
  readonly addresses: readonly SubjectSample[];
  /** Everything sent into each prefix, the addresses above included. */
  readonly prefixes: readonly SubjectSample[];
}

/** How long a bucket lasts: short enough that detection within 1.5 s has time to be sure. */
export const BUCKET_MS = 250;
