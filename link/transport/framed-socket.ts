import type { Socket } from 'node:net';
import { encodeFrame, FrameReader } from './frame.ts';

/** Past this much unsent, a peer does not read what it asked for: nothing more is taken from it until it does. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;

interface Events {
  readonly onMessage: (message: unknown) => void;
  /** Once, however it ended. */
  readonly onEnd: (reason: string) => void;
}

/** Messages over one socket. Reading stops while the reader asks for it or the peer does not read. */
export class FramedSocket {
  readonly #socket: Socket;
  readonly #events: Events;
  readonly #reader = new FrameReader();
  #held = false;
  #ended = false;

  constructor(socket: Socket, events: Events) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#drain();
    });
    socket.on('drain', () => this.#drain());
    // An error is always followed by close; the reason is only kept for words.
    let reason = 'the peer left';
    socket.on('error', (error) => {
      reason = error.message;
    });
    socket.on('close', () => this.#finish(reason));
  }

  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Throws `LinkError` `too_large`, and then has sent nothing. Sending to a peer that left does nothing. */
  send(envelope: object): void {
    const frame = encodeFrame(envelope);
    if (!this.#ended && this.#socket.writable) this.#socket.write(frame);
  }

  /** Stops handing out messages until `release`. */
  hold(): void {
    this.#held = true;
    this.#socket.pause();
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#drain();
  }

  /** Sends what is queued, then closes. */
  async end(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.end();
    const impatient = setTimeout(() => this.#socket.destroy(), 500);
    // The peer may still be sending; what it says no longer matters.
    this.#socket.resume();
    await closed;
    clearTimeout(impatient);
  }

  destroy(reason: string): void {
    this.#finish(reason);
    this.#socket.destroy();
  }

  #drain(): void {
    while (!this.#held && !this.#ended) {
      if (this.#socket.writableLength > MAX_UNSENT_BYTES) {
        this.#socket.pause();
        return;
      }
      const next = this.#reader.next();
      if (next === null) {
        this.#socket.resume();
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
