import type { Log } from '@portcullis/core/log.ts';
import { lastModified } from './switch-files.ts';
import { isDisableRequested } from './mode.ts';
import type { MachineClock } from './machine-clock.ts';

/** Detects by the marker files of the state directory that the edge was disabled, enabled or its trial confirmed. */
export class MarkerWatch {
  readonly #stateDir: string;
  readonly #log: Log;
  /** The modification time of the markers at the last check; `unreadable` is logged once. */
  #touched: bigint | null | 'unreadable' = null;

  constructor(stateDir: string, log: Log) {
    this.#stateDir = stateDir;
    this.#log = log;
  }

  /** Whether the markers changed since the last call or contradict `disabled`. Off and on again counts as a change. */
  changed(disabled: boolean, clock: MachineClock): boolean {
    try {
      const touched = lastModified(this.#stateDir);
      const wanted = isDisableRequested(this.#stateDir, clock);
      const changed = wanted !== disabled || touched !== this.#touched;
      this.#touched = touched;
      return changed;
    } catch (error) {
      if (this.#touched !== 'unreadable')
        this.#log.error(
          { error },
          'the edge cannot be enabled or disabled: its markers are unreadable',
        );
      this.#touched = 'unreadable';
      return false;
    }
  }
}
