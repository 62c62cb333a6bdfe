import type { Log } from '@portcullis/core/log.ts';
import type { Engine } from '../engine/engine.ts';

const RETRY_MS = 10_000;

export interface RemovalOptions {
  readonly uuid: string;
  readonly engine: Engine;
  readonly log: Log;
  /** Called when the instance is gone. */
  readonly onRemoved: () => void;
  /** Called a while after a failure; starts the removal again if it is still wanted. */
  readonly onRetry: () => void;
}

/** Removes the instance of a server that is no longer assigned to this node. */
export class Removal {
  readonly #options: RemovalOptions;
  #state: NodeJS.Timeout | 'in progress' | undefined;

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** No-op while a removal is in progress. */
  start(): void {
    if (this.#state !== 'in progress') void this.#remove();
  }

  /** A removal in progress continues. */
  close(): void {
    if (this.#state !== 'in progress') clearTimeout(this.#state);
  }

  async #remove(): Promise<void> {
    const { uuid, engine, log, onRemoved, onRetry } = this.#options;
    clearTimeout(this.#state);
    this.#state = 'in progress';
    try {
      await engine.remove(uuid);
      this.#state = undefined;
      onRemoved();
    } catch (error) {
      log.warn({ uuid, error }, 'a server could not be removed');
      this.#state = setTimeout(() => {
        this.#state = undefined;
        onRetry();
      }, RETRY_MS);
    }
  }
}
