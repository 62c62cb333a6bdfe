import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';

/**
 * What a kernel counts of the packets to protected destinations. Its memory is bounded, and only the agent fills it:
 * whoever sends packets to made-up destinations takes no room from others. A suite holds every driver to this.
 */
export interface CounterDriver {
  readonly capacity: CounterCapacity;
  /**
   * Counts what is sent to these networks from now on (an address alone is one of full length), and to no others.
   * `leastOf` an address, it is worth being told one by one; asked once or now and then.
   */
  watch(
    networks: readonly Cidr[],
    thresholdOf: (address: string) => ReportThreshold,
  ): Promise<void>;
  /** Never more than there is room for. What is followed or told already stays so, and nothing is counted twice. */
  change(change: CounterChange): Promise<void>;
  /** What came since the last call. */
  read(): Promise<CounterReading>;
}

export interface CounterCapacity {
  /** Addresses that are followed: counted one by one. */
  readonly followed: number;
  /** Networks that have a counter of their own. */
  readonly networks: number;
  /** Subjects whose vectors are told. */
  readonly vectors: number;
}

/** Subjects are canonical: an address, or a network with its length. Taken away is before given. */
export interface CounterChange {
  /** Their vectors are told no more. */
  readonly stopVectors: readonly string[];
  readonly unfollow: readonly string[];
  /** Addresses in networks that are watched. */
  readonly follow: readonly string[];
  /** Networks that are watched, and addresses that are followed. */
  readonly startVectors: readonly string[];
}

/** In one reading: so many packets, or so many bytes. */
export interface ReportThreshold {
  readonly packets: number;
  readonly bytes: number;
}

export interface CounterReading {
  /** Followed addresses, and others as far as they are counted one by one all the same: who got enough, or is told. */
  readonly addresses: readonly Counted[];
  /** Everything sent into each, the addresses above and those that got less included. */
  readonly networks: readonly Counted[];
  /** Addresses that nobody follows and that got much lately, with about how much. */
  readonly suspects: readonly Suspect[];
  /** Some packets to who is told; none where the kernel does not show them. */
  readonly samples: readonly CounterSample[];
}

export interface CounterSample {
  /** Number of the IP protocol. */
  readonly protocol: number;
  readonly destination: string;
  readonly source: string;
  /** 0 where the protocol has none. */
  readonly destinationPort: number;
  readonly sourcePort: number;
  /** For so many it stands. */
  readonly packets: number;
}

export interface Counted {
  readonly subject: string;
  readonly packets: number;
  /** From the IP header on. */
  readonly bytes: number;
  /** Of them, `tcp_data`. */
  readonly dataPackets: number;
  readonly dataBytes: number;
  /** Of them, small packets that acknowledge large ones which it sent; 0 where that is not seen. */
  readonly receiptPackets: number;
  /** Empty where they are not told. */
  readonly vectors: readonly VectorCount[];
}

export interface Suspect {
  readonly address: string;
  readonly packets: number;
  readonly bytes: number;
}
