import type { Family } from '@portcullis/core/net/address.ts';

export const GOLDEN = 0x9e3779b1;

/** Of an address in network order: neighbours come far apart. packet.h has the same. */
export function addressHash(family: Family, address: Buffer): number {
  if (family === 4) return Math.imul(address.readUInt32BE(0), GOLDEN) >>> 0;
  return (
    (Math.imul(address.readUInt32LE(0), 0x85ebca6b) +
      Math.imul(address.readUInt32LE(4), 0xc2b2ae35) +
      Math.imul(address.readUInt32LE(8), 0x27d4eb2f) +
      Math.imul(address.readUInt32BE(12), GOLDEN)) >>>
    0
  );
}
