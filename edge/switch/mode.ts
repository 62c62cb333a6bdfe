import { dirname } from 'node:path';
import { describeError } from '@portcullis/core/log.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import { edgeOff, type Disabled, hasExpired, readDisabled, readTrial } from './switch-files.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import type { MachineClock } from './machine-clock.ts';

/** The default of a command that root runs. */
const ROOTS_DATA = '/var/lib/portcullis';

/** Whether the edge enforces, and why not if it was requested to; or until when, on a trial. */
export interface ModeState {
  readonly mode: EdgeMode;
  readonly reason: string | null;
  /** The table must be absent: the operator disabled the edge, or a trial expired without confirmation. */
  readonly disabled: boolean;
  /** nftables works on this host, so rendered tables can be checked. */
  readonly canCheck: boolean;
}

export interface ModeInput {
  readonly requested: EdgeMode;
  readonly driver: Driver;
  readonly stateDir: string;
  readonly clock: MachineClock;
  /** The wall clock. */
  readonly nowMs: () => number;
  /** nftables was found to work before, so it is not probed again. */
  readonly works: boolean;
}

/** Reads the markers and probes the host. Ends a trial that expired; only the operator can enable the edge again. */
export async function readMode(input: ModeInput): Promise<ModeState> {
  const ended = endTrial(input);
  const off = readDisabled(input.stateDir) ?? ended;
  const lack = input.works ? null : await input.driver.probe();
  const canCheck = lack === null;
  if (off !== null) return { mode: 'observe', reason: off.reason, disabled: true, canCheck };
  if (input.requested === 'observe') {
    // It may belong to another agent on this host, so it stays.
    const left = canCheck && (await input.driver.present());
    const reason = left
      ? 'the table of an earlier or another agent still enforces on this host'
      : null;
    return { mode: 'observe', reason, disabled: false, canCheck };
  }
  if (lack !== null) return { mode: 'observe', reason: lack, disabled: false, canCheck };
  return { mode: 'enforce', reason: trialReason(input), disabled: false, canCheck };
}

/** To the second, so that it stays the same text at every reading. */
function trialReason({ stateDir, clock, nowMs }: ModeInput): string | null {
  const trial = readTrial(stateDir);
  if (trial === null || trial.confirmed) return null;
  const endsMs = nowMs() + trial.deadlineMs - clock.nowMs();
  const ends = new Date(Math.round(endsMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
  return `on trial: disabled at ${ends} unless somebody runs portcullis edge confirm${dataOption(stateDir)}`;
}

/** What the command needs to find this directory, which is `edge` in the data directory. */
function dataOption(stateDir: string): string {
  const dataDir = dirname(stateDir);
  return dataDir === ROOTS_DATA ? '' : ` --data ${dataDir}`;
}

/** A cheap check for the once-a-second poll. */
export function isDisableRequested(stateDir: string, clock: MachineClock): boolean {
  if (readDisabled(stateDir) !== null) return true;
  const trial = readTrial(stateDir);
  return trial !== null && hasExpired(trial, clock);
}

/**
 * Returns null if no trial has expired. If the disk is full and the marker cannot be written, the edge is disabled all
 * the same, so that the operator is not locked out.
 */
function endTrial({ stateDir, clock }: ModeInput): Disabled | null {
  const trial = readTrial(stateDir);
  if (trial === null || !hasExpired(trial, clock)) return null;
  const reason = 'enforcing was not confirmed in time';
  try {
    if (readDisabled(stateDir) === null) edgeOff(stateDir, reason);
  } catch (error) {
    return { reason: `${reason}, which could not be saved: ${describeError(error)}` };
  }
  return { reason };
}
