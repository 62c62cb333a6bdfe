import { describeError, type Log } from '@portcullis/core/log.ts';
import { hasFolders, purgeLeftovers, purgeServer } from './removed.ts';

/**
 * Deletes the files of servers that control lists as deleted for long enough. What a kill of the agent left half deleted has
 * another name, and goes first in the next round.
 */
export class Purges {
  readonly #stateDir: string;
  readonly #log: Log;
  #wanted: readonly string[] = [];
  #running: Promise<void> | null = null;

  constructor(stateDir: string, log: Log) {
    this.#stateDir = stateDir;
    this.#log = log;
  }

  /** Sets what control wants purged, and begins. Nothing that is assigned is purged, or that is not removed yet. */
  want(uuids: readonly string[]): void {
    this.#wanted = uuids;
    void this.run();
  }

  /** Purges what can be purged now. Never rejects; one round runs at a time. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** The servers that control wants purged of which nothing is left here. */
  get done(): string[] {
    return this.#wanted.filter((uuid) => !hasFolders(this.#stateDir, uuid));
  }

  async #round(): Promise<void> {
    try {
      await purgeLeftovers(this.#stateDir);
      for (const uuid of this.#wanted) {
        if (!(await purgeServer(this.#stateDir, this.#log, uuid))) continue;
        this.#log.info({ uuid }, 'the files of a deleted server were purged');
      }
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'the files of a server were not purged');
    }
  }
}
