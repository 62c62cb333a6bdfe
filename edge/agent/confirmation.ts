import type { RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { type Coalesced, coalesce } from '@portcullis/agent/coalesce.ts';

/** What the kernel has of a generation. */
export interface Confirmable {
  readonly generation: number;
  readonly refused: readonly RefusedTarget[];
}

export interface ConfirmationOptions {
  /** Tells control; rejects when it did not take it. */
  readonly tell: (what: Confirmable) => Promise<void>;
  /** It was not taken. Whoever comes to know better says it again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Tells control what the kernel has, apart from what brings it there: a control that is slow to answer, or hangs with
 * the connection open, must not keep a repair of the kernel waiting. One at a time, of several the last.
 */
export class Confirmation {
  readonly #options: ConfirmationOptions;
  readonly #telling: Coalesced;
  #wanted: Confirmable | null = null;
  /** What control has acknowledged, as text. */
  #acknowledged: string | null = null;
  /** An answer to what was told before the last `forget` says nothing. */
  #forgotten = 0;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
    this.#telling = coalesce(() => this.#tell());
  }

  /** The kernel has this, and the disk. Told once. */
  say({ generation, refused }: Confirmable): void {
    this.#wanted = { generation, refused };
    this.#telling.poke();
  }

  /** What was said holds no more, or control may be another one: nothing of it is told (again) before it is said anew. */
  forget(): void {
    this.#wanted = null;
    this.#acknowledged = null;
    this.#forgotten++;
  }

  stop(): Promise<void> {
    return this.#telling.stop();
  }

  async #tell(): Promise<null> {
    const wanted = this.#wanted;
    const said = JSON.stringify(wanted);
    if (wanted === null || said === this.#acknowledged) return null;
    const forgotten = this.#forgotten;
    try {
      await this.#options.tell(wanted);
      if (forgotten === this.#forgotten) this.#acknowledged = said;
    } catch (error) {
      this.#options.failed(error);
    }
    return null;
  }
}
