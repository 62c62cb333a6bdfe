import type { Log } from '@portcullis/core/log.ts';
import { lastTouched } from './switch-files.ts';
import { handsOffWanted } from './mode.ts';
import type { MachineClock } from './machine-clock.ts';

/** Looks whether somebody switched this edge off or on, or confirmed its trial, by the markers of its state directory. */
export class MarkerWatch {
  readonly #stateDir: string;
  readonly #log: Log;
  /** When somebody last touched the markers, as of the last look; `unreadable` is said once. */
  #touched: bigint | null | 'unreadable' = null;

  constructor(stateDir: string, log: Log) {
    this.#stateDir = stateDir;
    this.#log = log;
  }

  /** Whether what is done no longer is what the markers ask for. Off and on again between two looks counts, too. */
  asksForMore(handsOff: boolean, clock: MachineClock): boolean {
    try {
      const touched = lastTouched(this.#stateDir);
      const wanted = handsOffWanted(this.#stateDir, clock);
      const changed = wanted !== handsOff || touched !== this.#touched;
      this.#touched = touched;
      return changed;
    } catch (error) {
      if (this.#touched !== 'unreadable') this.#log.error({ error }, 'nobody can switch this edge');
      this.#touched = 'unreadable';
      return false;
    }
  }
}
