import type { Log } from '@portcullis/core/log.ts';
import type { Engine } from '../engine/engine.ts';

const AGAIN_MS = 10_000;

export interface RemovalOptions {
  readonly uuid: string;
  readonly engine: Engine;
  readonly log: Log;
  /** Its instance is gone. */
  readonly onGone: () => void;
  /** It failed a while ago: whoever still wants it asks again. */
  readonly onAgain: () => void;
}

/** Takes away the instance of a server that is no longer of this node. */
export class Removal {
  readonly #options: RemovalOptions;
  #state: NodeJS.Timeout | 'under way' | undefined;

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** No-op while it is under way. */
  begin(): void {
    if (this.#state !== 'under way') void this.#remove();
  }

  /** What is under way ends by itself. */
  close(): void {
    if (this.#state !== 'under way') clearTimeout(this.#state);
  }

  async #remove(): Promise<void> {
    const { uuid, engine, log, onGone, onAgain } = this.#options;
    clearTimeout(this.#state);
    this.#state = 'under way';
    try {
      await engine.remove(uuid);
      this.#state = undefined;
      onGone();
    } catch (error) {
      log.warn({ uuid, error }, 'a server could not be removed');
      this.#state = setTimeout(() => {
        this.#state = undefined;
        onAgain();
      }, AGAIN_MS);
    }
  }
}
