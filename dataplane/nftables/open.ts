import { NativeUnavailable, SystemError } from '../kernel/native.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { Driver } from './driver.ts';
import { createLibraryDriver } from './library.ts';
import { createNftDriver } from './nft.ts';
import { openRuleset } from './ruleset.ts';
import { watched } from './watch.ts';

/** Opens the driver of this host: libnftables if it is installed, otherwise the nft command. */
export function openDriver(log: Log): Driver {
  const driver =
    attempt(
      () => createLibraryDriver(createNftDriver()),
      (error) =>
        log.warn({ error }, 'nftables cannot be called in process: every change spawns nft'),
    ) ?? createNftDriver();
  const rules = attempt(openRuleset, (error) =>
    log.warn(
      { error },
      'netlink cannot be spoken: what others do to our table is not noticed at once',
    ),
  );
  return rules === null ? driver : watched(driver, rules);
}

function attempt<T>(open: () => T, failed: (error: Error) => void): T | null {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof NativeUnavailable || error instanceof SystemError)) throw error;
    failed(error);
    return null;
  }
}
