import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { canonicalAddress } from '@portcullis/core/net/address.ts';

/** What the edge host is, read anew at every call: addresses and devices come and go. */
export interface Host {
  /** Canonical addresses that this host holds, sorted. */
  localAddresses(): string[];
  /** Names of the network devices that are there, sorted. */
  devices(): string[];
  /** The bridge or bond that a device is a port of; null: none. */
  masterOf(device: string): string | null;
}

export function createHost(): Host {
  return {
    localAddresses: () => {
      const addresses = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
      const canonical = addresses.map(({ address }) => canonicalAddress(address));
      return [...new Set(canonical.filter((address) => address !== null))].toSorted();
    },
    devices: () => readdirSync('/sys/class/net').toSorted(),
    masterOf: (device) => {
      const about = `/sys/class/net/${device}`;
      try {
        // A VRF is a master too, but packets still enter by its members.
        const port = ['brport', 'bonding_slave'].some((one) => existsSync(join(about, one)));
        return port ? basename(readlinkSync(join(about, 'master'))) : null;
      } catch {
        // No port of anything, or no such device (any more).
        return null;
      }
    },
  };
}
