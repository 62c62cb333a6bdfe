import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';

/**
 * Traffic counters of a kernel. Their memory is bounded and filled only by the agent, so packets to random
 * destinations cannot exhaust it. One test suite covers every driver.
 */
export interface CounterDriver {
  readonly capacity: CounterCapacity;
  /**
   * Counts packets to exactly these networks. An address is a network of full length. Addresses above `thresholdOf`
   * are reported one by one; its results are cached.
   */
  watch(
    networks: readonly Cidr[],
    thresholdOf: (address: string) => ReportThreshold,
  ): Promise<void>;
  /**
   * Ignores what exceeds the capacity. Subjects that are followed or have counted vectors keep them, and nothing is
   * counted twice.
   */
  change(change: CounterChange): Promise<void>;
  /** Traffic since the last call. */
  read(): Promise<CounterReading>;
}

export interface CounterCapacity {
  /** Addresses counted one by one. */
  readonly followed: number;
  /** Networks with a counter of their own. */
  readonly networks: number;
  /** Subjects with counted vectors. */
  readonly vectors: number;
}

/** Subjects are canonical: an address, or a network with its length. Removals are applied first. */
export interface CounterChange {
  /** Their vectors are no longer counted. */
  readonly stopVectors: readonly string[];
  readonly unfollow: readonly string[];
  /** Addresses in watched networks. */
  readonly follow: readonly string[];
  /** Watched networks and followed addresses. */
  readonly startVectors: readonly string[];
}

/** Packets or bytes in one reading. */
export interface ReportThreshold {
  readonly packets: number;
  readonly bytes: number;
}

export interface CounterReading {
  /**
   * Followed addresses above their threshold or with counted vectors, and other addresses that were counted one by
   * one.
   */
  readonly addresses: readonly Counted[];
  /** All traffic to each network, including the addresses above. */
  readonly networks: readonly Counted[];
  /** Addresses that are not followed and recently had much traffic. The counts are estimates. */
  readonly suspects: readonly Suspect[];
  /** Packets to subjects with counted vectors. Empty if the kernel offers none. */
  readonly samples: readonly CounterSample[];
}

export interface CounterSample {
  /** The number of the IP protocol. */
  readonly protocol: number;
  readonly destination: string;
  readonly source: string;
  /** 0 if the protocol has no ports. */
  readonly destinationPort: number;
  readonly sourcePort: number;
  /** The number of packets that the sample stands for. */
  readonly packets: number;
}

export interface Counted {
  readonly subject: string;
  readonly packets: number;
  /** From the IP header on. */
  readonly bytes: number;
  /** The part of it that is `tcp_data`. */
  readonly dataPackets: number;
  readonly dataBytes: number;
  /** Small packets that acknowledge large ones of the subject; 0 if those are not seen. */
  readonly receiptPackets: number;
  /** Empty if vectors are not counted. */
  readonly vectors: readonly VectorCount[];
}

export interface Suspect {
  readonly address: string;
  readonly packets: number;
  readonly bytes: number;
}
