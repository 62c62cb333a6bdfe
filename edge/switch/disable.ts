import { totalmem } from 'node:os';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/base-chain.ts';
import { fitToMemory } from '@portcullis/core/firewall/fragment-limits.ts';
import { SetAside, setAsideBeforeRemoval } from '../state/denied-flow-file.ts';
import { edgeOff } from './switch-files.ts';
import { eachConnection } from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { openLearntReader } from '@portcullis/dataplane/nftables/elements/learnt-reader.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { createSysctls } from '@portcullis/dataplane/kernel/sysctls.ts';
import { MEMORY_SHARE, Reassembly } from '../host/reassembly.ts';
import { pinsFolders, takeOffPinned } from '@portcullis/dataplane/xdp/devices/pins.ts';

/** An agent hears of a deletion within a fifth of a second, and repairs it at once. */
const STAYS_AWAY_MS = 1_000;
const LOOK_MS = 100;
/** The agent of this state directory may be in the middle of a write: it takes that back itself, if it lives. */
const TRIES = 3;

/**
 * Takes our hands off this host, with or without an agent, also after a restart. False: somebody who does not look at
 * this state directory goes on putting our table back. Throws `StateError` and `DriverError`.
 */
export async function takeOff(stateDir: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const driver = createNftDriver();
  // Whoever may not change the kernel is refused before the marker is written, not after.
  if (process.getuid?.() !== 0) await driver.remove();
  const unwritten = markOff(stateDir);
  // The agent does all this too, if one runs; here it must not depend on that.
  const aside = new SetAside({ stateDir, open: openLearntReader, eachConnection });
  await setAsideBeforeRemoval(driver, aside, () => {}).remove();
  for (const folder of pinsFolders(stateDir, env)) takeOffPinned(folder);
  giveBackReassembly(stateDir);
  const isOff = await staysAway(driver);
  if (isOff && unwritten !== null) throw unwritten;
  return isOff;
}

/** What kept the marker from being written: without it this lasts until the next agent only. */
function markOff(stateDir: string): Error | null {
  try {
    edgeOff(stateDir);
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Removes it again until it stays away for a while; false: it does not. */
export async function staysAway(
  driver: Pick<Driver, 'remove' | 'present'>,
  pause: (ms: number) => Promise<unknown> = (ms) => new Promise((done) => setTimeout(done, ms)),
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await driver.remove();
    let isBack = false;
    for (let ms = 0; ms < STAYS_AWAY_MS && !isBack; ms += LOOK_MS) {
      await pause(LOOK_MS);
      isBack = await driver.present();
    }
    if (!isBack) return true;
  }
  return false;
}

function giveBackReassembly(stateDir: string): void {
  const limits = fitToMemory(DEFAULT_LIMITS.fragmentLimits, totalmem() / MEMORY_SHARE);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  new Reassembly({ sysctls: createSysctls(), limits, stateDir, log }).giveBack();
}
