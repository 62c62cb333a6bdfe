import { BITS, formatAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, formatCidr } from '@portcullis/core/net/cidr.ts';

/** Family and length are below this; the observer is above. */
const HEADS = 2048;

/** Family and prefix length in one number. */
export function headOf(family: 4 | 6, length: number, observer = 0): number {
  return family * 256 + length + observer * HEADS;
}

function familyOf(head: number): 4 | 6 {
  return Math.floor((head % HEADS) / 256) === 4 ? 4 : 6;
}

export function formatPrefix(head: number, words: Uint32Array): string {
  return formatCidr({ family: familyOf(head), value: valueOf(words), length: head & 255 });
}

export function isHost(prefix: string): boolean {
  return prefix.endsWith(prefix.includes(':') ? '/128' : '/32');
}

export function formatHost(head: number, words: Uint32Array): string {
  return formatAddress({ family: familyOf(head), value: valueOf(words) });
}

function valueOf(words: Uint32Array): bigint {
  return words.reduce((value, word) => (value << 32n) | BigInt(word), 0n);
}

/** Keeps the first `length` bits of four words and clears the others. */
export function maskInto(into: Uint32Array, words: Uint32Array, length: number): void {
  for (let index = 0; index < 4; index++) {
    const bits = length - 32 * index;
    const mask = bits >= 32 ? 0xffffffff : bits <= 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
    into[index] = (words[index] as number) & mask;
  }
}

/** The address of a network in four words. */
export function wordsOf({ value }: Cidr): Uint32Array {
  return Uint32Array.from([96n, 64n, 32n, 0n], (shift) => Number((value >> shift) & 0xffffffffn));
}

/** The head of an address with full length. */
export function hostHead(family: 4 | 6, observer: number): number {
  return headOf(family, BITS[family], observer);
}
