import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';

/** Flows under way that are spread at a time. */
const CAPACITY = 65_536;
/** Longer flows are spread over this much; their rate stays what it was. */
const MAX_MS = 60_000;
const MAX_BUCKETS = MAX_MS / BUCKET_MS;

/** A share of a flow that falls into every bucket until it is used up. */
export interface Share {
  /** Slots of the two subjects, with what says whether they are still theirs. */
  address: number;
  addressTenure: number;
  prefix: number;
  prefixTenure: number;
  vector: number;
  packets: number;
  bytes: number;
  packetVariance: number;
  byteVariance: number;
}

/**
 * Records of long flows, told when they end or in between, spread over as much time as they took: a download of a
 * minute that is told at once is no flood. Spread forwards from the moment they are told, so that what a bucket
 * holds never changes after it was closed; of many flows that go on, the sum is what passes.
 */
export class Smear {
  readonly #shares: Share[] = [];
  readonly #left: number[] = [];

  /** Into how many buckets a record that took so long is parted. */
  static buckets(durationMs: number): number {
    return Math.min(MAX_BUCKETS, Math.ceil(durationMs / BUCKET_MS));
  }

  /** False: there is no room. */
  add(share: Share, buckets: number): boolean {
    if (this.#shares.length >= CAPACITY) return false;
    this.#shares.push(share);
    this.#left.push(buckets);
    return true;
  }

  /** Begins a bucket: every flow's share of it. */
  step(take: (share: Share) => void): void {
    for (let index = 0; index < this.#shares.length; ) {
      take(this.#shares[index] as Share);
      const left = (this.#left[index] as number) - 1;
      if (left > 0) {
        this.#left[index++] = left;
        continue;
      }
      // The last one takes its place.
      const lastShare = this.#shares.pop() as Share;
      const lastLeft = this.#left.pop() as number;
      if (index < this.#shares.length) {
        this.#shares[index] = lastShare;
        this.#left[index] = lastLeft;
      }
    }
  }
}
