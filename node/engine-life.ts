import { bounded } from './bounded.ts';
import type { Engine } from './engine/engine.ts';

/** So long an answer counts for everybody who asks. */
const FRESH_MS = 500;

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

  /** Resolves within that time. Whoever asks meanwhile waits for the same answer. */
  async answers(withinMs: number): Promise<boolean> {
    if (performance.now() - this.#answeredAtMs < FRESH_MS) return true;
    this.#asking ??= this.#ask();
    return bounded('answer', withinMs, this.#asking).catch(() => false);
  }

  async #ask(): Promise<boolean> {
    try {
      await this.#engine.ping();
      this.#answeredAtMs = performance.now();
      return true;
    } catch {
      return false;
    } finally {
      this.#asking = null;
    }
  }
}
