import { watch } from 'node:fs';
import { dirname } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import {
  edgeOff,
  type Disabled,
  hasExpired,
  isMarker,
  lastModified,
  readDisabled,
  readTrial,
  settleTrial,
  startTrial,
} from './switch-files.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import type { MachineClock } from './machine-clock.ts';

/** The default of a command that root runs. */
const ROOTS_DATA = '/var/lib/portcullis';

/** The mode that the operator asks for. */
export type RequestedMode = 'enforce' | 'observe';

/** Whether the edge enforces, and why not if it was requested to; or until when, on a trial. */
export interface ModeState {
  readonly mode: RequestedMode;
  readonly reason: string | null;
  /** The table must be absent: the operator disabled the edge, or a trial expired without confirmation. */
  readonly disabled: boolean;
  /** nftables works on this host, so rendered tables can be checked. */
  readonly canCheck: boolean;
}

export interface ModeOptions {
  readonly requested: RequestedMode;
  /** The duration of a trial, from the first write on. Null means no trial. */
  readonly confirmWithinMs: number | null;
  readonly driver: Driver;
  /** Holds the markers of switch-files.ts. */
  readonly stateDir: string;
  readonly clock: MachineClock;
  /** The wall clock. */
  readonly nowMs: () => number;
  readonly log: Log;
}

/** Whether this host enforces, by what was requested, its markers and what the kernel can do. */
export class ModeSwitch {
  readonly #options: ModeOptions;
  #state: ModeState = { mode: 'observe', reason: 'starting', disabled: false, canCheck: false };
  /** The modification time of the markers at the last check; `unreadable` is logged once. */
  #touched: bigint | null | 'unreadable' = null;

  constructor(options: ModeOptions) {
    this.#options = options;
  }

  /** The state as of the last `read`. */
  get state(): ModeState {
    return this.#state;
  }

  get isConfirmed(): boolean {
    return readTrial(this.#options.stateDir)?.confirmed === true;
  }

  /** An agent that was started to enforce without a trial ends a running one for good. */
  settle(): void {
    const { requested, confirmWithinMs, stateDir, clock } = this.#options;
    if (requested === 'enforce' && confirmWithinMs === null) settleTrial(stateDir, clock);
  }

  /** Starts the trial that was requested, unless one runs or was confirmed. Called before the first write. */
  startTrial(): void {
    const { confirmWithinMs, stateDir, clock } = this.#options;
    if (confirmWithinMs !== null) startTrial(stateDir, confirmWithinMs, clock);
  }

  /** Reads the markers and probes the host. Ends a trial that expired; only the operator can enable the edge again. */
  async read(): Promise<ModeState> {
    const ended = this.#endTrial();
    const { driver, stateDir } = this.#options;
    const off = readDisabled(stateDir) ?? ended;
    // nftables that was found to work is not probed again.
    const lack = this.#state.canCheck ? null : await driver.probe();
    this.#state = await this.#stateOf(off, lack);
    return this.#state;
  }

  async #stateOf(off: Disabled | null, lack: string | null): Promise<ModeState> {
    const canCheck = lack === null;
    if (off !== null) return { mode: 'observe', reason: off.reason, disabled: true, canCheck };
    if (this.#options.requested === 'observe') {
      // It may belong to another agent on this host, so it stays.
      const left = canCheck && (await this.#options.driver.present());
      const reason = left
        ? 'the table of an earlier or another agent still enforces on this host'
        : null;
      return { mode: 'observe', reason, disabled: false, canCheck };
    }
    if (lack !== null) return { mode: 'observe', reason: lack, disabled: false, canCheck };
    return { mode: 'enforce', reason: this.#trialReason(), disabled: false, canCheck };
  }

  /**
   * Whether the markers changed since the last call or contradict the state: a cheap check for the once-a-second poll.
   * Off and on again counts as a change.
   */
  changed(): boolean {
    const { stateDir, clock, log } = this.#options;
    try {
      const touched = lastModified(stateDir);
      const trial = readTrial(stateDir);
      const isOff = readDisabled(stateDir) !== null || (trial !== null && hasExpired(trial, clock));
      const changed = isOff !== this.#state.disabled || touched !== this.#touched;
      this.#touched = touched;
      return changed;
    } catch (error) {
      if (this.#touched !== 'unreadable')
        log.error({ error }, 'the edge cannot be enabled or disabled: its markers are unreadable');
      this.#touched = 'unreadable';
      return false;
    }
  }

  /** Calls back when a marker was written, sooner than a poll finds it. Returns what ends it. */
  watch(onChange: () => void): () => void {
    try {
      const watcher = watch(this.#options.stateDir, { persistent: false }, (_event, name) => {
        if (name === null || isMarker(name)) onChange();
      });
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      // The poll is enough.
      return () => {};
    }
  }

  /** Whether the operator has disabled the edge, perhaps since the last `read`. */
  isOff(): boolean {
    try {
      return readDisabled(this.#options.stateDir) !== null;
    } catch {
      // Unreadable markers disable nothing.
      return false;
    }
  }

  /** To the second, so that it stays the same text at every reading. */
  #trialReason(): string | null {
    const { stateDir, clock, nowMs } = this.#options;
    const trial = readTrial(stateDir);
    if (trial === null || trial.confirmed) return null;
    const endsMs = nowMs() + trial.deadlineMs - clock.nowMs();
    const ends = new Date(Math.round(endsMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
    return `on trial: disabled at ${ends} unless somebody runs portcullis edge confirm${dataOption(stateDir)}`;
  }

  /**
   * Returns null if no trial has expired. If the disk is full and the marker cannot be written, the edge is disabled all
   * the same, so that the operator is not locked out.
   */
  #endTrial(): Disabled | null {
    const { stateDir, clock } = this.#options;
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
}

/** The option that the command needs to find this directory, which is `edge` in the data directory. */
function dataOption(stateDir: string): string {
  const dataDir = dirname(stateDir);
  return dataDir === ROOTS_DATA ? '' : ` --data ${dataDir}`;
}
