import type { RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { type Coalesced, coalesce } from '@portcullis/link/coalesce.ts';

/** A generation that the kernel has, except for the refused targets. */
export interface Confirmable {
  readonly generation: number;
  readonly refused: readonly RefusedTarget[];
}

export interface ConfirmationOptions {
  /** Rejects if control did not accept it. */
  readonly send: (what: Confirmable) => Promise<void>;
  /** The caller sends again when it has something new. */
  readonly failed: (error: unknown) => void;
}

/**
 * Sends confirmations to control, separately from applying: a slow or hanging control must not delay a repair of the
 * kernel. Sends one at a time; of several that wait, only the newest.
 */
export class Confirmation {
  readonly #options: ConfirmationOptions;
  readonly #sending: Coalesced;
  #wanted: Confirmable | null = null;
  /** The last acknowledged confirmation, as JSON. */
  #acknowledged: string | null = null;
  /** Invalidates answers to confirmations sent before the last `forget`. */
  #forgotten = 0;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
    this.#sending = coalesce(() => this.#send());
  }

  /** Sends it once. The kernel and the disk have this state. */
  send({ generation, refused }: Confirmable): void {
    this.#wanted = { generation, refused };
    this.#sending.poke();
  }

  /** Drops what waits and what was acknowledged: the mode changed, or control may be another one. */
  forget(): void {
    this.#wanted = null;
    this.#acknowledged = null;
    this.#forgotten++;
  }

  stop(): Promise<void> {
    return this.#sending.stop();
  }

  async #send(): Promise<null> {
    const wanted = this.#wanted;
    const text = JSON.stringify(wanted);
    if (wanted === null || text === this.#acknowledged) return null;
    const forgotten = this.#forgotten;
    try {
      await this.#options.send(wanted);
      if (forgotten === this.#forgotten) this.#acknowledged = text;
    } catch (error) {
      this.#options.failed(error);
    }
    return null;
  }
}
