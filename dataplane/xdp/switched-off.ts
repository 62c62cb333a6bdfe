import type { DeviceModes } from './devices/device-modes.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { takeOffPinned } from './devices/pins.ts';

/** What an edge without early drop says of its devices, and of programs that it could not take off them. */
export interface SwitchedOff extends DeviceModes {
  problems(): readonly string[];
}

/**
 * nftables alone judges from now on: what an agent before this one pinned to devices is taken off them. A failure
 * keeps nobody from starting, but those programs go on dropping by rules that nobody changes any more.
 */
export function switchOff(pins: string, log: Log): SwitchedOff {
  const problems: string[] = [];
  try {
    takeOffPinned(pins);
  } catch (error) {
    problems.push(`the early drop could not be taken off: ${describeError(error)}`);
    log.error({ error }, 'the early drop is switched off, but could not be taken off');
  }
  return {
    modeOf: () => ({ xdp: 'none', reason: 'switched off' }),
    problems: () => problems,
  };
}
