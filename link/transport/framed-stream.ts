import type { Duplex } from 'node:stream';
import { encodeFrame, FrameReader } from './frame.ts';

/** With more unsent data than this the peer does not read its replies: its requests wait until it does. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;
const END_TIMEOUT_MS = 500;

interface Events {
  readonly onMessage: (message: unknown) => void;
  /** Called once, however the stream ended. */
  readonly onEnd: (reason: string) => void;
}

/** Messages over one byte stream. Reading stops while the owner pauses it or the peer does not read. */
export class FramedStream {
  readonly #stream: Duplex;
  readonly #events: Events;
  readonly #reader = new FrameReader();
  #paused = false;
  #ended = false;

  constructor(stream: Duplex, events: Events) {
    this.#stream = stream;
    this.#events = events;
    stream.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#drain();
    });
    stream.on('drain', () => this.#drain());
    // `close` always follows an error.
    let reason = 'the peer left';
    stream.on('error', (error) => {
      reason = error.message;
    });
    stream.on('close', () => this.#finish(reason));
  }

  get unsentBytes(): number {
    return this.#stream.writableLength;
  }

  /** Throws `LinkError` `too_large` before it sends anything. Does nothing when the peer left. */
  send(envelope: object): void {
    const frame = encodeFrame(envelope);
    if (!this.#ended && this.#stream.writable) this.#stream.write(frame);
  }

  /** No message is delivered until `resume`. */
  pause(): void {
    this.#paused = true;
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#drain();
  }

  /** Sends what is queued, then closes. */
  async end(): Promise<void> {
    if (this.#stream.destroyed) return;
    const closed = new Promise<void>((resolve) => this.#stream.once('close', () => resolve()));
    this.#stream.end();
    const timer = setTimeout(() => this.#stream.destroy(), END_TIMEOUT_MS);
    // The peer may still be sending; that data is discarded.
    this.#stream.resume();
    await closed;
    clearTimeout(timer);
  }

  destroy(reason: string): void {
    this.#finish(reason);
    this.#stream.destroy();
  }

  #drain(): void {
    while (!this.#paused && !this.#ended) {
      if (this.#stream.writableLength > MAX_UNSENT_BYTES) {
        this.#stream.pause();
        return;
      }
      const next = this.#reader.next();
      if (next === null) {
        this.#stream.resume();
        return;
      }
      if (!next.ok) {
        this.destroy(next.reason);
        return;
      }
      this.#events.onMessage(next.value);
    }
  }

  #finish(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onEnd(reason);
  }
}
