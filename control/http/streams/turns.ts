/** Bytes that the streams of this process pass on in one turn of the event loop, together: a fraction of a millisecond. */
const TURN_BYTES = 256 * 1024;

/** The turns of one event loop, which all of its streams share. */
export class StreamTurns {
  readonly #waiting: (() => void)[] = [];
  #passed = 0;
  #isScheduled = false;

  /**
   * Calls `done` when bytes may be passed on: now, or in the next turn. Where both ends are fast, one read of the kernel
   * follows another within a turn, and all other requests of the process would wait for megabytes of every stream.
   */
  pass(bytes: number, done: () => void): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#next());
    }
    this.#passed += bytes;
    if (this.#passed <= TURN_BYTES) done();
    else this.#waiting.push(done);
  }

  #next(): void {
    this.#isScheduled = false;
    this.#passed = 0;
    for (const done of this.#waiting.splice(0)) done();
  }
}

/** The turns of this process. */
export const streamTurns = new StreamTurns();
