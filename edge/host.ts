import { readdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { canonicalAddress } from '@portcullis/core/net/address.ts';

/** What the edge host is, read anew at every call: addresses and devices come and go. */
export interface Host {
  /** Canonical addresses that this host holds, sorted. */
  localAddresses(): string[];
  /** Names of the network devices that are there, sorted. */
  devices(): string[];
}

export function createHost(): Host {
  return {
    localAddresses: () => {
      const addresses = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
      const canonical = addresses.map(({ address }) => canonicalAddress(address));
      return [...new Set(canonical.filter((address) => address !== null))].toSorted();
    },
    devices: () => readdirSync('/sys/class/net').toSorted(),
  };
}
