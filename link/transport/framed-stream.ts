import type { Duplex } from 'node:stream';
import { encodeFrame, FrameReader } from './frame.ts';
import { MAX_MESSAGE_BYTES } from './transport.ts';

/** With more unsent data than this the peer does not read its replies: its requests wait until it does. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;
const END_TIMEOUT_MS = 500;

interface Events {
  readonly onMessage: (message: unknown) => void;
  /** Called once, however the stream ended. */
  readonly onEnd: (reason: string) => void;
  /** Whether another reader takes the stream, by its first bytes. It is paused then, and its end is still reported. */
  readonly isTaken?: (head: Buffer) => boolean;
}

/** Messages over one byte stream. Reading stops while the owner pauses it or the peer does not read. */
export class FramedStream {
  readonly #stream: Duplex;
  readonly #events: Events;
  readonly #reader: FrameReader;
  #paused = false;
  #ended = false;

  /** `maxBytes`: of one message of the peer. */
  constructor(stream: Duplex, events: Events, maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#stream = stream;
    this.#reader = new FrameReader(maxBytes);
    this.#events = events;
    const onDrain = (): void => this.#drain();
    const onData = (chunk: Buffer): void => {
      this.#reader.push(chunk);
      this.#drain();
    };
    stream.once('data', (head: Buffer) => {
      if (events.isTaken?.(head) !== true) {
        stream.on('data', onData);
        return onData(head);
      }
      stream.off('drain', onDrain);
      stream.pause();
      stream.unshift(head);
    });
    stream.on('drain', onDrain);
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

  /** From the next message of the peer on. */
  allow(maxBytes: number): void {
    this.#reader.maxBytes = maxBytes;
  }

  /** Throws `LinkError` `too_large` before it sends anything. Does nothing when the peer left. */
  send(envelope: object, maxBytes?: number): void {
    const frame = encodeFrame(envelope, maxBytes);
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
      this.#deliver(next.value);
    }
  }

  /** An error of the owner ends this stream, never the process. */
  #deliver(message: unknown): void {
    try {
      this.#events.onMessage(message);
    } catch (error) {
      this.destroy(`a message could not be taken: ${String(error)}`);
    }
  }

  #finish(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onEnd(reason);
  }
}
