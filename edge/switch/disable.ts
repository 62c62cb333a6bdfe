import { totalmem } from 'node:os';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { fitToMemory } from '@portcullis/core/firewall/fragment-limits.ts';
import { DeniedFlowFile, savingDeniedFlows } from '../state/denied-flow-file.ts';
import { edgeOff } from './switch-files.ts';
import { eachConnection } from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { openLearnedReader } from '@portcullis/dataplane/nftables/elements/learned-reader.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { createSysctls } from '@portcullis/dataplane/kernel/sysctls.ts';
import { MEMORY_SHARE, Reassembly } from '../host/reassembly.ts';
import { pinsFolders, detachPinned } from '@portcullis/dataplane/xdp/devices/pins.ts';

/** An agent is notified of a deletion within 200 ms and repairs it immediately. */
const ABSENT_MS = 1_000;
const POLL_MS = 100;
const log = { debug() {}, info() {}, warn() {}, error() {} };
/** The agent of this state directory may be writing the table right now; if it runs, it removes it again by itself. */
const TRIES = 3;

/**
 * Disables enforcement on this host, with or without a running agent; it stays disabled across restarts. Returns false
 * if an agent of another state directory keeps restoring the table. Throws `StateError` and `DriverError`.
 */
export async function disableEnforcement(
  stateDir: string,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  const driver = createNftDriver();
  // A caller that may not change the kernel must fail before the marker is written.
  if (process.getuid?.() !== 0) await driver.remove();
  const writeError = writeMarker(stateDir);
  // A running agent does the same; this must not depend on it.
  const file = new DeniedFlowFile({ stateDir, log, open: openLearnedReader, eachConnection });
  await savingDeniedFlows(driver, file, () => {}).remove();
  for (const folder of pinsFolders(stateDir, env)) detachPinned(folder);
  restoreReassembly(stateDir);
  const isAbsent = await removeUntilAbsent(driver);
  if (isAbsent && writeError !== null) throw writeError;
  return isAbsent;
}

/** Returns the error if the marker cannot be written: the next agent would enforce again. */
function writeMarker(stateDir: string): Error | null {
  try {
    edgeOff(stateDir);
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Removes the table until it stays absent for a second. Returns false if it keeps coming back. */
export async function removeUntilAbsent(
  driver: Pick<Driver, 'remove' | 'present'>,
  pause: (ms: number) => Promise<unknown> = (ms) => new Promise((done) => setTimeout(done, ms)),
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await driver.remove();
    let isRestored = false;
    for (let ms = 0; ms < ABSENT_MS && !isRestored; ms += POLL_MS) {
      await pause(POLL_MS);
      isRestored = await driver.present();
    }
    if (!isRestored) return true;
  }
  return false;
}

function restoreReassembly(stateDir: string): void {
  const limits = fitToMemory(DEFAULT_LIMITS.fragmentLimits, totalmem() / MEMORY_SHARE);
  new Reassembly({ sysctls: createSysctls(), limits, stateDir, log }).restore();
}
