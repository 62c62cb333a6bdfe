import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { canonicalAddress } from '@portcullis/core/net/address.ts';

// include/uapi/linux/if.h
const IFF_UP = 1;

/** Facts of the edge host, read at every call because addresses and devices change. */
export interface Host {
  /** The canonical addresses of this host, sorted. */
  localAddresses(): string[];
  /** The names of the network devices, sorted. */
  devices(): string[];
  /** Whether the device was set up. False if it is gone. */
  isUp(device: string): boolean;
  /** The bridge or bond that the device is a port of, or null. */
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
    isUp: (device) => {
      try {
        return (Number(readFileSync(`/sys/class/net/${device}/flags`, 'utf8')) & IFF_UP) !== 0;
      } catch {
        return false;
      }
    },
    masterOf: (device) => {
      const about = `/sys/class/net/${device}`;
      try {
        // A VRF is a master too, but packets still enter by its ports.
        const port = ['brport', 'bonding_slave'].some((one) => existsSync(join(about, one)));
        return port ? basename(readlinkSync(join(about, 'master'))) : null;
      } catch {
        // The device is no port, or it is gone.
        return null;
      }
    },
  };
}
