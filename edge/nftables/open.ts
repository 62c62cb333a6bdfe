import { NativeUnavailable, SystemError } from '../kernel/native.ts';
import type { Log } from '../log.ts';
import type { Driver } from './driver.ts';
import { createLibraryDriver } from './library.ts';
import { createNftDriver } from './nft.ts';

/** The kernel of this host: in process where libnftables is there, else by the nft command. */
export function openDriver(log: Log): Driver {
  try {
    return createLibraryDriver();
  } catch (error) {
    if (!(error instanceof NativeUnavailable || error instanceof SystemError)) throw error;
    log.warn({ error }, 'nftables cannot be called in process: every change spawns nft');
    return createNftDriver();
  }
}
