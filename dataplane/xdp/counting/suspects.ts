import { type Address, formatAddress } from '@portcullis/core/net/address.ts';
import type { Suspect } from '../../counters/driver.ts';
import { LAYOUT } from '../maps/layout.ts';

/** `struct suspect` of layout.h, in words. */
const WORDS = 10;
const [EPOCH, VOTES, PACKETS, FAMILY, BYTES, ADDRESS] = [0, 1, 2, 3, 4, 6] as const;
/** Fewer votes may be chance. */
const MIN_VOTES = 8;
const MAX_SUSPECTS = 64;

interface Bucket {
  readonly at: number;
  readonly votes: number;
}

/** Returns the suspects with the most votes in this epoch and the previous one. `nowNs`: CLOCK_MONOTONIC. */
export function readSuspects(words: Uint32Array, nowNs: bigint): Suspect[] {
  const epoch = Number((nowNs >> BigInt(LAYOUT.EPOCH_SHIFT)) & 0xffff_ffffn);
  const buckets: Bucket[] = [];
  for (let at = 0; at < words.length; at += WORDS) {
    const votes = words[at + VOTES] as number;
    if (votes < MIN_VOTES || (epoch - (words[at + EPOCH] as number)) >>> 0 > 1) continue;
    buckets.push({ at, votes });
  }
  return buckets
    .toSorted((a, b) => b.votes - a.votes)
    .slice(0, MAX_SUSPECTS)
    .map(({ at, votes }) => {
      const share = votes / Math.max(votes, words[at + PACKETS] as number);
      const bytes = (words[at + BYTES] as number) + (words[at + BYTES + 1] as number) * 2 ** 32;
      const address = formatAddress(addressAt(words, at));
      return { address, packets: votes, bytes: bytes * share };
    });
}

function addressAt(words: Uint32Array, at: number): Address {
  const family = words[at + FAMILY] === 4 ? 4 : 6;
  let value = 0n;
  for (let word = 0; word < (family === 4 ? 1 : 4); word++) {
    value = (value << 32n) | BigInt(hostOrder(words[at + ADDRESS + word] as number));
  }
  return { family, value };
}

/** A word as a little-endian machine reads it from a packet. */
function hostOrder(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}
