import { describeError } from '@portcullis/core/log.ts';
import type { EdgeMode } from '@portcullis/link/messages.ts';
import { edgeOff, type Off, ranOut, readOff, readTrial } from './switch-files.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import type { MachineClock } from './machine-clock.ts';

/** Whether the edge enforces, and if not although asked to, why. */
export interface Stance {
  readonly mode: EdgeMode;
  readonly reason: string | null;
  /** Our table must not be there: a person, or a trial that ran out, took our hands off. */
  readonly handsOff: boolean;
  /** The kernel can be asked to check what we render. */
  readonly canAsk: boolean;
}

export interface StanceInput {
  readonly requested: EdgeMode;
  readonly driver: Driver;
  readonly stateDir: string;
  readonly clock: MachineClock;
  /** The host was found able before; it is asked again only until it is. */
  readonly able: boolean;
}

/** Ends a trial that ran out, which nobody may undo but a person. */
export async function takeStance(input: StanceInput): Promise<Stance> {
  const ended = endTrial(input);
  const off = readOff(input.stateDir) ?? ended;
  const lack = input.able ? null : await input.driver.probe();
  const canAsk = lack === null;
  if (off !== null) return { mode: 'observe', reason: off.reason, handsOff: true, canAsk };
  if (input.requested === 'observe') {
    // Not ours to remove: another agent on this host may be enforcing with it.
    const left = canAsk && (await input.driver.present());
    const reason = left
      ? 'a table of an earlier or another agent still enforces on this host'
      : null;
    return { mode: 'observe', reason, handsOff: false, canAsk };
  }
  if (lack !== null) return { mode: 'observe', reason: lack, handsOff: false, canAsk };
  return { mode: 'enforce', reason: null, handsOff: false, canAsk };
}

/** What may change a stance from one second to the next, cheaply. */
export function handsOffWanted(stateDir: string, clock: MachineClock): boolean {
  if (readOff(stateDir) !== null) return true;
  const trial = readTrial(stateDir);
  return trial !== null && ranOut(trial, clock);
}

/** Null: none ran out. A disk that takes no marker keeps nobody locked out: then it is off for as long as that is so. */
function endTrial({ stateDir, clock }: StanceInput): Off | null {
  const trial = readTrial(stateDir);
  if (trial === null || !ranOut(trial, clock)) return null;
  const reason = 'enforcing was not confirmed in time';
  try {
    if (readOff(stateDir) === null) edgeOff(stateDir, reason);
  } catch (error) {
    return { reason: `${reason}, which could not be written down: ${describeError(error)}` };
  }
  return { reason };
}
