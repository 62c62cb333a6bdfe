import { bounded } from './bounded.ts';
import type { Engine } from './engine/engine.ts';

/** So long an answer counts for everybody who asks. */
const FRESH_MS = 500;
/** Within the 2 s that readers of a state wait, with room for the way there and back. */
const ANSWER_MS = 1_200;

/**
 * Whether the engine answers now. One that hangs says nothing of it, and is taken for lost only after seconds: until
 * then nobody is told what was true before, nor that something is done which waits for it. A hiccup costs no more.
 */
export class EngineLife {
  readonly #engine: Pick<Engine, 'ping'>;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | null = null;

  constructor(engine: Pick<Engine, 'ping'>) {
    this.#engine = engine;
  }

  async answers(): Promise<boolean> {
    if (performance.now() - this.#answeredAtMs < FRESH_MS) return true;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(): Promise<boolean> {
    try {
      await bounded('answer', ANSWER_MS, this.#engine.ping());
      this.#answeredAtMs = performance.now();
      return true;
    } catch {
      return false;
    }
  }
}
