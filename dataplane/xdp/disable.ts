import { describeKernelError } from '../kernel/describe-error.ts';
import type { DeviceModes } from './devices/device.ts';
import type { Log } from '@portcullis/core/log.ts';
import { detachPinned } from './devices/pins.ts';

/** The report of an edge without early drop on its devices, and of programs that it failed to detach. */
export interface DisabledEarlyDrop extends DeviceModes {
  problems(): readonly string[];
}

/**
 * Detaches what an earlier agent pinned, so that nftables alone evaluates packets. A failure does not stop the agent
 * from starting, but the pinned programs then go on dropping by outdated rules.
 */
export function disableEarlyDrop(pins: string, log: Log): DisabledEarlyDrop {
  const problems: string[] = [];
  try {
    detachPinned(pins);
  } catch (error) {
    problems.push(`the early drop could not be detached: ${describeKernelError(error)}`);
    log.error({ error }, 'the early drop is disabled, but could not be detached');
  }
  return {
    modeOf: () => ({ xdp: 'none', reason: 'switched off' }),
    problems: () => problems,
  };
}
